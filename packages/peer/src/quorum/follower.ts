/** What a member makes of what leaders say. */

import { requestVotes } from './candidate.ts';
import type { QuorumMessage } from './message.ts';
import type { QuorumState } from './state.ts';
import type { Turn } from './turn.ts';

type In<T extends QuorumMessage['type']> = Extract<QuorumMessage, { type: T }>;

/** There is one leader of its term, and this is it: whatever the member was about, it follows, and promises to keep still. */
export function onHeartbeat(turn: Turn, from: string, { round }: In<'heartbeat'>): void {
  const { role, term, standing } = turn.state;
  const leader = leaderOf(turn.state);
  if (leader !== undefined && leader !== from) turn.conflict({ code: 'TWO_LEADERS', from, term, leader });
  if (role.kind === 'leading') return;
  turn.set({ role: { kind: 'following', leader: from }, promisedUntilMs: turn.nowMs + turn.rules.electionTimeoutMinMs });
  turn.restartElectionTimer();
  turn.send(from, { type: 'heartbeatAnswer', term, round, position: turn.position, standing });
}

/** Who has led its term, this member included, as far as it knows. */
function leaderOf({ memberId, role, term, ledTerm }: QuorumState): string | undefined {
  if (role.kind === 'leading' || ledTerm === term) return memberId;
  return role.kind === 'following' ? role.leader : undefined;
}

/**
 * The leader of its term has stopped believing, for good, and asks this member to stand in the next one: at once, and past all promises. They were made to
 * that leader, or to one before it. An old handover finds a newer term here and comes to nothing; one that is merely late asks for one term only.
 */
export function onHandover(turn: Turn): void {
  if (turn.state.standing) requestVotes(turn, true);
}

/** The leader of its term has stopped believing, for good: nothing is owed to it any more. Whoever stands does so soon, and not all at once. */
export function onResigned(turn: Turn): void {
  turn.set({ role: { kind: 'following', leader: undefined }, promisedUntilMs: turn.nowMs });
  turn.standAfter(turn.chance() * turn.rules.heartbeatEveryMs);
}
