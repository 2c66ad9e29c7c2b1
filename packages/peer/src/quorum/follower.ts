/** What a member makes of what leaders say. */

import { requestVotes } from './candidate.ts';
import type { QuorumMessage } from './message.ts';
import type { QuorumState } from './state.ts';
import type { StepContext } from './step-context.ts';

type In<T extends QuorumMessage['type']> = Extract<QuorumMessage, { type: T }>;

/**
 * There is one leader of its term, and this is it: whatever the member was about, it follows, and
 * promises to keep still.
 */
export function onHeartbeat(step: StepContext, from: string, { round }: In<'heartbeat'>): void {
  const { role, term, standing } = step.state;
  const leader = leaderOf(step.state);
  if (leader !== undefined && leader !== from) step.conflict({ code: 'TWO_LEADERS', from, term, leader });
  if (role.kind === 'leading') return;
  step.set({ role: { kind: 'following', leader: from }, promisedUntilMs: step.nowMs + step.rules.electionTimeoutMinMs });
  step.restartElectionTimer();
  step.send(from, { type: 'heartbeatAnswer', term, round, position: step.position, standing });
}

/** Who has led its term, this member included, as far as it knows. */
function leaderOf({ memberId, role, term, ledTerm }: QuorumState): string | undefined {
  if (role.kind === 'leading' || ledTerm === term) return memberId;
  return role.kind === 'following' ? role.leader : undefined;
}

/**
 * The leader of its term has stopped believing, for good, and asks this member to stand in the next
 * one: at once, and past all promises. They were made to that leader, or to one before it. An old
 * handover finds a newer term here and comes to nothing; one that is merely late asks for one term
 * only.
 */
export function onHandover(step: StepContext): void {
  if (step.state.standing) requestVotes(step, true);
}

/**
 * The leader of its term has stopped believing, for good: nothing is owed to it any more. Whoever
 * stands does so soon, and not all at once.
 */
export function onResigned(step: StepContext): void {
  step.set({ role: { kind: 'following', leader: undefined }, promisedUntilMs: step.nowMs });
  step.standAfter(step.random() * step.rules.heartbeatEveryMs);
}
