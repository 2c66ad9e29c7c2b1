/**
 * The leader's part: its leadership is valid while a majority has answered a recent round of
 * heartbeats, because each member that answered votes for nobody for a while.
 */

import type { Validity, PeerEndReason } from '../algorithm.ts';
import type { MessageOf } from './message.ts';
import type { Rules } from './options.ts';
import { followerOf, type QuorumState } from './state.ts';
import type { StepContext } from './step-context.ts';

/**
 * Called when a majority has voted for this member. The leadership becomes valid when a majority
 * has answered a heartbeat too.
 */
export function lead(step: StepContext): void {
  const { nowMs } = step;
  step.set({ role: { kind: 'leading', sinceMs: nowMs, sent: [], followers: {}, vouched: undefined, heartbeatAtMs: nowMs } });
  beat(step);
}

/** Sends the next round of heartbeats. */
export function beat(step: StepContext): void {
  const { role, term } = step.state;
  if (role.kind !== 'leading') return;
  const round = (role.sent.at(-1)?.round ?? 0) + 1;
  const sent = [...role.sent, { round, sentAt: step.now }];
  step.set({ role: { ...role, sent, heartbeatAtMs: step.nowMs + step.rules.heartbeatEveryMs } });
  step.broadcast({ type: 'heartbeat', term, round });
  extendValidity(step);
}

export function onHeartbeatAnswer(step: StepContext, from: string, answer: MessageOf<'heartbeatAnswer'>): void {
  const { role } = step.state;
  if (role.kind !== 'leading') return;
  const { position, standing } = answer;
  const round = Math.max(followerOf(role, from)?.round ?? 0, answer.round);
  step.set({ role: { ...role, followers: { ...role.followers, [from]: { round, position, standing } } } });
  extendValidity(step);
}

/**
 * The leadership is valid from the sending of the newest round that a majority has answered. It
 * does not count from an answer, because an answer may have been in transit for long.
 */
function extendValidity(step: StepContext): void {
  const { role, memberId } = step.state;
  if (role.kind !== 'leading') return;
  const rounds = step.rules.members
    .map((id) => (id === memberId ? Infinity : (followerOf(role, id)?.round ?? 0)))
    .toSorted((a, b) => b - a);
  const answered = rounds[step.rules.majority - 1] ?? 0;
  const vouched = role.sent.findLast(({ round }) => round <= answered);
  if (vouched === undefined || vouched === role.vouched) return;
  const isFirst = role.vouched === undefined;
  step.set({ role: { ...role, vouched, sent: role.sent.filter(({ round }) => round >= vouched.round) } });
  if (isFirst) step.elected();
}

/** Ends a leadership for which no majority has vouched recently. (Raft calls this check quorum.) */
export function endIfOver(step: StepContext): void {
  const { role } = step.state;
  if (role.kind !== 'leading') return;
  const { nowMs, rules } = step;
  if (role.vouched === undefined ? nowMs >= role.sinceMs + rules.leaseMs : nowMs >= role.vouched.sentAt.monotonicMs + rules.validMs)
    end(step, 'deadline');
}

/**
 * Ends the leadership of this term for good; a later vote for this member is a vote in another
 * term. The campaign is over if the leadership was ever valid. If it was not, the member still
 * campaigns.
 */
export function end(step: StepContext, reason: PeerEndReason): void {
  const { role, term, standing } = step.state;
  if (role.kind !== 'leading') return;
  const wasValid = role.vouched !== undefined;
  step.set({ role: { kind: 'following', leader: undefined }, ledTerm: term, standing: standing && !wasValid });
  step.restartElectionTimer();
  if (wasValid) step.ended(reason);
}

/** Enters a newer term as a follower without a known leader. */
export function stepDown(step: StepContext, term: bigint): void {
  end(step, 'newerTerm');
  step.set({ term, votedFor: undefined, role: { kind: 'following', leader: undefined } });
}

export function validityOf({ validMs, leaseMs }: Rules, { role, term }: QuorumState): Validity<'quorum'> | undefined {
  if (role.kind !== 'leading' || role.vouched === undefined) return undefined;
  return { term, round: undefined, from: role.vouched.sentAt, forMs: validMs, safeForMs: leaseMs };
}
