/** Whether this member leads: it keeps the list, it stands, and they are enough. */

import type { PeerEndReason } from '../algorithm.ts';
import { startClaim } from './claim.ts';
import { publish } from './coordinator.ts';
import { coordinatorOf, isEnough } from './list.ts';
import { end, isStillness } from './end.ts';
import type { StepContext } from './step-context.ts';

/** Begins or ends a leadership, as the state has it now. The last thing in each step. */
export function settleLeadership(step: StepContext): void {
  const { present, state, rules, nowMs } = step;
  if (present?.role.kind !== 'coordinating') return end(step, 'merged');
  if (!isEnough(rules, present.list)) return end(step, 'notEnoughMembers');
  if (state.leading !== undefined || !state.standing || !coordinatorOf(present.list).standing || state.keepUntilMs > nowMs)
    return undefined;
  // One leadership a round: a second one is told by another number.
  if (present.list.round <= state.ledRound) publish(step, { members: present.list.members, anew: true });
  const round = step.present?.list.round;
  step.set({ leading: round, ledRound: round ?? state.ledRound });
  return step.event({ type: 'elected' });
}

/** Ends belief. Whoever may have stood still asks the others before it keeps the list again. */
export function endBy(step: StepContext, reason: PeerEndReason): void {
  if (step.state.leading === undefined) return;
  end(step, reason);
  if (isStillness(reason) && step.present?.role.kind === 'coordinating') startClaim(step);
}

/** What was not sent in time ends belief. */
export function endIfOver(step: StepContext): void {
  const { state, rules, nowMs, present } = step;
  const sinceMs = nowMs - state.beatAt.monotonicMs;
  if (state.leading !== undefined && sinceMs >= rules.validMs) endBy(step, 'deadline');
  else if (present?.role.kind === 'coordinating' && sinceMs >= rules.failureTimeoutMs) startClaim(step);
}
