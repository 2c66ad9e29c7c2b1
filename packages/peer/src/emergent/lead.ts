/** Whether this member leads: it keeps the list, it stands, and they are enough. */

import type { PeerEndReason } from '../algorithm.ts';
import { startClaim } from './claim.ts';
import { publish } from './keeper.ts';
import { coordinatorOf, isEnough } from './list.ts';
import { end, isStillness } from './office.ts';
import type { Turn } from './turn.ts';

/** Begins or ends a leadership, as the state has it now. The last thing in each step. */
export function settleLeadership(turn: Turn): void {
  const { present, state, rules, nowMs } = turn;
  if (present?.role.kind !== 'coordinating') return end(turn, 'merged');
  if (!isEnough(rules, present.list)) return end(turn, 'notEnoughMembers');
  if (state.leading !== undefined || !state.standing || !coordinatorOf(present.list).standing || state.keepUntilMs > nowMs)
    return undefined;
  // One leadership a round: a second one is told by another number.
  if (present.list.round <= state.ledRound) publish(turn, { members: present.list.members, anew: true });
  const round = turn.present?.list.round;
  turn.set({ leading: round, ledRound: round ?? state.ledRound });
  return turn.event({ type: 'elected' });
}

/** Ends belief. Whoever may have stood still asks the others before it keeps the list again. */
export function endBy(turn: Turn, reason: PeerEndReason): void {
  if (turn.state.leading === undefined) return;
  end(turn, reason);
  if (isStillness(reason) && turn.present?.role.kind === 'coordinating') startClaim(turn);
}

/** What was not sent in time ends belief. */
export function endIfOver(turn: Turn): void {
  const { state, rules, nowMs, present } = turn;
  const sinceMs = nowMs - state.beatAt.monotonicMs;
  if (state.leading !== undefined && sinceMs >= rules.beliefMs) endBy(turn, 'deadline');
  else if (present?.role.kind === 'coordinating' && sinceMs >= rules.failureTimeoutMs) startClaim(turn);
}
