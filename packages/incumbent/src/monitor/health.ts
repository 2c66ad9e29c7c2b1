/** Whether this process should be left alone, or started anew. */

import type { Labels, State } from './state.ts';

/** Something that a restart would mend. */
export interface Problem {
  /**
   * `renewalOverdue`: it leads, and its lease has not been renewed for longer than it should; if that goes on, it loses leadership by itself. `stuck`: its leadership has
   * ended, and the work goes on past its drain: nothing but the end of the process is sure to stop that.
   */
  readonly problem: 'renewalOverdue' | 'stuck';
  readonly store: string;
  readonly election: string;
  readonly member: string;
  /** For how long, in ms. */
  readonly forMs: number;
}

export interface Health {
  /** There are no problems. Not to lead is none, and neither is a store that is away. */
  readonly healthy: boolean;
  readonly problems: readonly Problem[];
  /** The elections that are led here now, with their terms as text: JSON has no bigint. */
  readonly leads: readonly { readonly store: string; readonly election: string; readonly member: string; readonly term: string }[];
}

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

function namesOf({ store = '', election = '', member = '' }: Labels): Pick<Problem, 'store' | 'election' | 'member'> {
  return { store, election, member };
}
