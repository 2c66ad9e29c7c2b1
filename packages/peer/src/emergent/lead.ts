/**
 * Decides whether this member leads: it is the coordinator, it campaigns, and there are enough
 * members.
 */

import type { PeerEndReason } from '../algorithm.ts';
import { startClaim } from './claim.ts';
import { publish } from './coordinator.ts';
import { coordinatorOf, isEnough } from './list.ts';
import { end, mayHaveBeenPaused } from './end.ts';
import type { StepContext } from './step-context.ts';

/** Starts or ends the leadership according to the state. Runs last in each step. */
export function settleLeadership(step: StepContext): void {
  const { present, state, rules, nowMs } = step;
  if (present?.role.kind !== 'coordinating') return end(step, 'merged');
  if (!isEnough(rules, present.list)) return end(step, 'notEnoughMembers');
  if (state.leading !== undefined || !state.standing || !coordinatorOf(present.list).standing || state.keepUntilMs > nowMs)
    return undefined;
  // A second leadership needs a new round.
  if (present.list.round <= state.ledRound) publish(step, { members: present.list.members, anew: true });
  const round = step.present?.list.round;
  step.set({ leading: round, ledRound: round ?? state.ledRound });
  return step.event({ type: 'elected' });
}

/**
 * Ends the leadership. If this process may have been paused, it asks the other members before it
 * coordinates again.
 */
export function endBy(step: StepContext, reason: PeerEndReason): void {
  if (step.state.leading === undefined) return;
  end(step, reason);
  if (mayHaveBeenPaused(reason) && step.present?.role.kind === 'coordinating') startClaim(step);
}

/** Ends the leadership if the member has not sent its heartbeats in time. */
export function endIfOver(step: StepContext): void {
  const { state, rules, nowMs, present } = step;
  const sinceMs = nowMs - state.beatAt.monotonicMs;
  if (state.leading !== undefined && sinceMs >= rules.validMs) endBy(step, 'deadline');
  else if (present?.role.kind === 'coordinating' && sinceMs >= rules.failureTimeoutMs) startClaim(step);
}
