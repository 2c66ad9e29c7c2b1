/** Whether this process is healthy, for liveness probes. */

import type { Labels, State } from './state.ts';

/** A problem of this process. */
export interface Problem {
  /**
   * `renewalOverdue`: the member leads, and its lease should have been renewed; without a renewal
   * the leadership ends at its deadline, also if the store is away. `stuck`: the leadership has
   * ended, and its work continues past the drain; only the end of the process is sure to stop that
   * work.
   */
  readonly problem: 'renewalOverdue' | 'stuck';
  readonly store: string;
  /** Absent if the store has no namespace. */
  readonly namespace?: string;
  readonly election: string;
  readonly member: string;
  /** How long the problem has lasted, in ms. */
  readonly forMs: number;
}

type Names = Pick<Problem, 'store' | 'namespace' | 'election' | 'member'>;

/** The health of this process, as JSON. */
export interface Health {
  /**
   * Whether there are no problems. Not leading is no problem, and a store that is unavailable is
   * one only while this process leads.
   */
  readonly healthy: boolean;
  readonly problems: readonly Problem[];
  /**
   * The elections that members of this process lead now. Terms are strings, as JSON has no bigint.
   */
  readonly leads: readonly (Names & { readonly term: string })[];
}

/** The problems of this process, and the elections that it leads. */
export function healthOf(state: State): Health {
  const now = state.nowMs;
  const parts = [...state.parts.values()];
  const problems = parts.flatMap((part): Problem[] => {
    const { labels, leads, stuckSinceMs } = part;
    const overdueSinceMs = leads === undefined ? undefined : state.leases.get(leads.lease)?.suspectSinceMs;
    const overdue =
      overdueSinceMs === undefined
        ? []
        : [{ problem: 'renewalOverdue' as const, ...namesOf(labels), forMs: Math.round(now - overdueSinceMs) }];
    const stuck = [...stuckSinceMs.values()].map((sinceMs) => ({
      problem: 'stuck' as const,
      ...namesOf(labels),
      forMs: Math.round(now - sinceMs),
    }));
    return [...overdue, ...stuck];
  });
  const leads = parts.flatMap((part) =>
    part.leads !== undefined && state.isLeading(part) ? [{ ...namesOf(part.labels), term: String(part.leads.term) }] : [],
  );
  return { healthy: problems.length === 0, problems, leads };
}

function namesOf({ store = '', namespace, election = '', member = '' }: Labels): Names {
  return { store, ...(namespace === undefined ? {} : { namespace }), election, member };
}
