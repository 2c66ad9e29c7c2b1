/**
 * Every member that stands leads a group of its own, and groups invite one another and merge: the
 * larger one's leader stays, so that fewer need be told; of two of a size, the one of the better
 * leader. (Invitation: Garcia-Molina, "Elections in a distributed computing system", IEEE
 * Transactions on Computers, 1982; the larger group as Petrov tells it, "Database Internals", 2019,
 * chapter 10.)
 *
 * There are many leaders by design: one a group, and as many groups at the start as there are
 * members that stand. In a connected, quiet cluster one is left. A leadership ends as `superseded`
 * when its group joins another.
 */

import { checkNumber } from '@incumbent/core/adapter';
import { bestEffort, type BestEffortAlgorithm } from '../best-effort/best-effort.ts';
import { resolveRules, type BestEffortOptions } from '../best-effort/options.ts';
import { attend, attendAtMs, begin, onHandover, onHeartbeat, release } from './group.ts';
import { onMessage } from './merge.ts';

export interface InvitationOptions extends BestEffortOptions {
  /**
   * How often a leader invites those that are not in its group, in ms: after half to the whole of
   * it, by chance. From a twentieth of the failure timeout to ten times it. Default half of it.
   */
  readonly inviteEveryMs?: number;
}

/** The same for all members of a cluster. */
export function invitation(options: InvitationOptions): BestEffortAlgorithm {
  const rules = resolveRules('invitation', options, ['inviteEveryMs']);
  const { failureTimeoutMs } = rules;
  const inviteEveryMs = checkNumber('inviteEveryMs', options.inviteEveryMs, failureTimeoutMs / 2, {
    min: failureTimeoutMs / 20,
    max: failureTimeoutMs * 10,
    why: 'a twentieth of failureTimeoutMs to ten times it',
  });
  return bestEffort('invitation', {
    rules,
    speaks: ['invite', 'accept', 'redirect', 'moved'],
    preempts: false,
    forgiveMs: undefined,
    successors: 0,
    listensMs: 0,
    isEligible: () => true,
    delayMs: () => 0,
    begin,
    onTimeout: () => {},
    onHeartbeat,
    onMessage,
    onHandover,
    release,
    attend: (step) => attend(step, inviteEveryMs),
    attendAtMs,
  });
}
