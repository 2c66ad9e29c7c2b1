/** Ends a leadership. */

import type { PeerEndReason } from '../algorithm.ts';
import type { StepContext } from './step-context.ts';

/**
 * Ends the leadership and the campaign. The member keeps its place in the order until the command
 * `release` reports that its work has stopped. Does nothing if the member does not lead.
 */
export function end(step: StepContext, reason: PeerEndReason): void {
  if (step.state.leading === undefined) return;
  const keepOnMs = mayHaveBeenPaused(reason) ? step.rules.heartbeatEveryMs : 0;
  step.set({ leading: undefined, standing: false, keepUntilMs: Infinity, keepOnMs });
  step.event({ type: 'ended', reason });
}

/** Whether this process may have been paused for so long that other members treat it as failed. */
export function mayHaveBeenPaused(reason: PeerEndReason): boolean {
  return reason === 'deadline' || reason === 'clockJump';
}
