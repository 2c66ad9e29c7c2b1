/** How a leader knows that it leads: a majority has answered a round of heartbeats lately, and each of them keeps still for a while. */

import type { Belief, PeerEndReason } from '../algorithm.ts';
import type { QuorumMessage } from './message.ts';
import type { Rules } from './options.ts';
import type { QuorumState } from './state.ts';
import type { Turn } from './turn.ts';

/** Its term is its own, by the votes of a majority. It believes once a majority has answered as well. */
export function lead(turn: Turn): void {
  const { nowMs } = turn;
  turn.set({ role: { kind: 'leading', sinceMs: nowMs, sent: [], followers: {}, vouched: undefined, heartbeatAtMs: nowMs } });
  beat(turn);
}

/** Sends the next round. */
export function beat(turn: Turn): void {
  const { role, term } = turn.state;
  if (role.kind !== 'leading') return;
  const round = (role.sent.at(-1)?.round ?? 0) + 1;
  const sent = [...role.sent, { round, sentAt: turn.now }];
  turn.set({ role: { ...role, sent, heartbeatAtMs: turn.nowMs + turn.rules.heartbeatEveryMs } });
  turn.tellAll({ type: 'heartbeat', term, round });
  vouch(turn);
}

export function onHeartbeatAnswer(turn: Turn, from: string, answer: Extract<QuorumMessage, { type: 'heartbeatAnswer' }>): void {
  const { role } = turn.state;
  if (role.kind !== 'leading') return;
  const { position, standing } = answer;
  const round = Math.max(role.followers[from]?.round ?? 0, answer.round);
  turn.set({ role: { ...role, followers: { ...role.followers, [from]: { round, position, standing } } } });
  vouch(turn);
}

/** Belief counts from the sending of the newest round that a majority has answered: not from an answer, which may have been under way for long. */
function vouch(turn: Turn): void {
  const { role, memberId } = turn.state;
  if (role.kind !== 'leading') return;
  const rounds = turn.rules.members.map((id) => (id === memberId ? Infinity : (role.followers[id]?.round ?? 0))).toSorted((a, b) => b - a);
  const answered = rounds[turn.rules.majority - 1] ?? 0;
  const vouched = role.sent.findLast(({ round }) => round <= answered);
  if (vouched === undefined || vouched === role.vouched) return;
  const isFirst = role.vouched === undefined;
  turn.set({ role: { ...role, vouched, sent: role.sent.filter(({ round }) => round >= vouched.round) } });
  if (isFirst) turn.elected();
}

/** Ends a leadership that no majority has vouched for lately. (Check-quorum.) */
export function endIfOver(turn: Turn): void {
  const { role } = turn.state;
  if (role.kind !== 'leading') return;
  const { nowMs, rules } = turn;
  if (role.vouched === undefined ? nowMs >= role.sinceMs + rules.leaseMs : nowMs >= role.vouched.sentAt.monotonicMs + rules.beliefMs)
    end(turn, 'deadline');
}

/**
 * It leads its term no longer, and never will again: whoever votes for it from now on does so in another. A leadership that was believed in was what
 * it stood for; one that never came to that leaves it standing.
 */
export function end(turn: Turn, reason: PeerEndReason): void {
  const { role, term, standing } = turn.state;
  if (role.kind !== 'leading') return;
  const wasBelieved = role.vouched !== undefined;
  turn.set({ role: { kind: 'following', leader: undefined }, ledTerm: term, standing: standing && !wasBelieved });
  turn.restartElectionTimer();
  if (wasBelieved) turn.ended(reason);
}

/** There is a newer term: whatever it was in its own, it follows now, whoever leads. */
export function stepDown(turn: Turn, term: bigint): void {
  end(turn, 'newerTerm');
  turn.set({ term, votedFor: undefined, role: { kind: 'following', leader: undefined } });
}

export function beliefOf({ beliefMs, leaseMs }: Rules, { role, term }: QuorumState): Belief<'quorum'> | undefined {
  if (role.kind !== 'leading' || role.vouched === undefined) return undefined;
  return { term, round: undefined, from: role.vouched.sentAt, forMs: beliefMs, safeForMs: leaseMs };
}
