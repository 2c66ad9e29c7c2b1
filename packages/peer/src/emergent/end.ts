/** The end of a leadership. */

import type { PeerEndReason } from '../algorithm.ts';
import type { StepContext } from './step-context.ts';

/**
 * It stops believing, and stands no more. Whoever gives up keeps its place in the order until its
 * work has stopped, which `release` tells. Does nothing where it does not lead.
 */
export function end(step: StepContext, reason: PeerEndReason): void {
  if (step.state.leading === undefined) return;
  const keepOnMs = isStillness(reason) ? step.rules.heartbeatEveryMs : 0;
  step.set({ leading: undefined, standing: false, keepUntilMs: Infinity, keepOnMs });
  step.event({ type: 'ended', reason });
}

/** Whether it may have stood still, so that the others may have taken it for dead. */
export function isStillness(reason: PeerEndReason): boolean {
  return reason === 'deadline' || reason === 'clockJump';
}
