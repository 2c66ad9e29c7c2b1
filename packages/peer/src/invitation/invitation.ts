/**
 * Every member that campaigns first leads a group of its own. Leaders invite each other, and their
 * groups merge. The leader of the larger group stays leader, so that fewer members change their
 * leader. Of two groups of equal size, the one with the better-ranked leader wins. (Invitation:
 * Garcia-Molina, "Elections in a distributed computing system", IEEE Transactions on Computers,
 * 1982. The larger group wins: Petrov, "Database Internals", 2019, chapter 10.)
 *
 * By design there are several leaders at first: as many as there are members that campaign. In a
 * connected group without failures, one is left. A leadership ends as `superseded` when its group
 * joins another.
 */

import { checkNumber } from '@incumbent/core/adapter';
import { bestEffort, type BestEffortAlgorithm } from '../best-effort/best-effort.ts';
import { resolveRules, type BestEffortOptions } from '../best-effort/options.ts';
import { attend, attendAtMs, begin, onHandover, onHeartbeat, release } from './group.ts';
import { onMessage } from './merge.ts';

/** The options of `invitation`, on which all members must agree. */
export interface InvitationOptions extends BestEffortOptions {
  /**
   * How often a leader invites the members outside its group, in ms. Each interval is drawn at
   * random from half of this value to all of it. A twentieth of `failureTimeoutMs` to 10 times
   * that. Default: half of `failureTimeoutMs`.
   */
  readonly inviteEveryMs?: number | undefined;
}

/**
 * Creates the algorithm. All members of a group must use the same options.
 * @throws `INVALID_OPTION`, or `INVALID_NAME` for a member id.
 */
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
    messageTypes: ['invite', 'accept', 'redirect', 'moved'],
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
