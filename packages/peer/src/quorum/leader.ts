/**
 * How a leader knows that it leads: a majority has answered a round of heartbeats lately, and each
 * of them keeps still for a while.
 */

import type { Validity, PeerEndReason } from '../algorithm.ts';
import type { QuorumMessage } from './message.ts';
import type { Rules } from './options.ts';
import type { QuorumState } from './state.ts';
import type { StepContext } from './step-context.ts';

/**
 * Its term is its own, by the votes of a majority. It believes once a majority has answered as
 * well.
 */
export function lead(step: StepContext): void {
  const { nowMs } = step;
  step.set({ role: { kind: 'leading', sinceMs: nowMs, sent: [], followers: {}, vouched: undefined, heartbeatAtMs: nowMs } });
  beat(step);
}

/** Sends the next round. */
export function beat(step: StepContext): void {
  const { role, term } = step.state;
  if (role.kind !== 'leading') return;
  const round = (role.sent.at(-1)?.round ?? 0) + 1;
  const sent = [...role.sent, { round, sentAt: step.now }];
  step.set({ role: { ...role, sent, heartbeatAtMs: step.nowMs + step.rules.heartbeatEveryMs } });
  step.tellAll({ type: 'heartbeat', term, round });
  vouch(step);
}

export function onHeartbeatAnswer(step: StepContext, from: string, answer: Extract<QuorumMessage, { type: 'heartbeatAnswer' }>): void {
  const { role } = step.state;
  if (role.kind !== 'leading') return;
  const { position, standing } = answer;
  const round = Math.max(role.followers[from]?.round ?? 0, answer.round);
  step.set({ role: { ...role, followers: { ...role.followers, [from]: { round, position, standing } } } });
  vouch(step);
}

/**
 * Validity counts from the sending of the newest round that a majority has answered: not from an
 * answer, which may have been under way for long.
 */
function vouch(step: StepContext): void {
  const { role, memberId } = step.state;
  if (role.kind !== 'leading') return;
  const rounds = step.rules.members.map((id) => (id === memberId ? Infinity : (role.followers[id]?.round ?? 0))).toSorted((a, b) => b - a);
  const answered = rounds[step.rules.majority - 1] ?? 0;
  const vouched = role.sent.findLast(({ round }) => round <= answered);
  if (vouched === undefined || vouched === role.vouched) return;
  const isFirst = role.vouched === undefined;
  step.set({ role: { ...role, vouched, sent: role.sent.filter(({ round }) => round >= vouched.round) } });
  if (isFirst) step.elected();
}

/** Ends a leadership that no majority has vouched for lately. (Check-quorum.) */
export function endIfOver(step: StepContext): void {
  const { role } = step.state;
  if (role.kind !== 'leading') return;
  const { nowMs, rules } = step;
  if (role.vouched === undefined ? nowMs >= role.sinceMs + rules.leaseMs : nowMs >= role.vouched.sentAt.monotonicMs + rules.validMs)
    end(step, 'deadline');
}

/**
 * It leads its term no longer, and never will again: whoever votes for it from now on does so in
 * another. A leadership that was believed in was what it stood for; one that never came to that
 * leaves it standing.
 */
export function end(step: StepContext, reason: PeerEndReason): void {
  const { role, term, standing } = step.state;
  if (role.kind !== 'leading') return;
  const wasBelieved = role.vouched !== undefined;
  step.set({ role: { kind: 'following', leader: undefined }, ledTerm: term, standing: standing && !wasBelieved });
  step.restartElectionTimer();
  if (wasBelieved) step.ended(reason);
}

/** There is a newer term: whatever it was in its own, it follows now, whoever leads. */
export function stepDown(step: StepContext, term: bigint): void {
  end(step, 'newerTerm');
  step.set({ term, votedFor: undefined, role: { kind: 'following', leader: undefined } });
}

export function validityOf({ validMs, leaseMs }: Rules, { role, term }: QuorumState): Validity<'quorum'> | undefined {
  if (role.kind !== 'leading' || role.vouched === undefined) return undefined;
  return { term, round: undefined, from: role.vouched.sentAt, forMs: validMs, safeForMs: leaseMs };
}
