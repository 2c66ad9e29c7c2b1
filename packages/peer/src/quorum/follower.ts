/** The follower's part: how a member reacts to a leader's messages. */

import { requestVotes } from './candidate.ts';
import type { MessageOf } from './message.ts';
import type { QuorumState } from './state.ts';
import type { StepContext } from './step-context.ts';

/**
 * The sender is the only leader of this term. This member follows it, and promises to vote for
 * nobody for the shortest election timeout. The duration of the promise is durable before the
 * answer is sent: usually it was saved with the vote.
 */
export function onHeartbeat(step: StepContext, from: string, { round }: MessageOf<'heartbeat'>): void {
  const { role, term, standing } = step.state;
  reportSecondLeader(step, from);
  if (role.kind === 'leading') return;
  step.set({ role: { kind: 'following', leader: from }, promisedUntilMs: step.nowMs + step.rules.electionTimeoutMinMs });
  step.savePromise();
  step.restartElectionTimer();
  step.send(from, { type: 'heartbeatAnswer', term, round, position: step.position, standing });
}

/**
 * Reports a conflict if this member knows another leader of this term. Only the leader of a term
 * sends heartbeats, and announces the end of that leadership.
 */
function reportSecondLeader(step: StepContext, from: string): void {
  const leader = leaderOf(step.state);
  if (leader !== undefined && leader !== from) step.conflict({ code: 'TWO_LEADERS', from, term: step.state.term, leader });
}

/** The leader of the present term, as far as this member knows. It may be this member. */
function leaderOf({ memberId, role, term, ledTerm }: QuorumState): string | undefined {
  if (role.kind === 'leading' || ledTerm === term) return memberId;
  return role.kind === 'following' ? role.leader : undefined;
}

/**
 * The leader of this term has ended its leadership for good, and asks this member to campaign in
 * the next term, at once and without regard to promises: those were made to that leader, or to an
 * earlier one. A handover from an older term has no effect, because this member knows a newer term.
 * A late handover can affect only the one term after it.
 */
export function onHandover(step: StepContext, from: string): void {
  reportSecondLeader(step, from);
  if (step.state.role.kind !== 'leading' && step.state.standing) requestVotes(step, true);
}

/**
 * The leader of this term has ended its leadership for good, so promises to it are void. The
 * candidates campaign soon, and not all at once.
 */
export function onResigned(step: StepContext, from: string): void {
  reportSecondLeader(step, from);
  if (step.state.role.kind === 'leading') return;
  step.set({ role: { kind: 'following', leader: undefined }, promisedUntilMs: step.nowMs });
  step.standAfter(step.random() * step.rules.heartbeatEveryMs);
}
