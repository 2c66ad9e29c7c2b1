/** The end of a leadership. */

import type { PeerEndReason } from '../algorithm.ts';
import type { Turn } from './turn.ts';

/**
 * It stops believing, and stands no more. Whoever gives up keeps its place in the order until its work has stopped, which `release` tells. Does nothing where it does
 * not lead.
 */
export function end(turn: Turn, reason: PeerEndReason): void {
  if (turn.state.leading === undefined) return;
  const keepOnMs = isStillness(reason) ? turn.rules.heartbeatEveryMs : 0;
  turn.set({ leading: undefined, standing: false, keepUntilMs: Infinity, keepOnMs });
  turn.event({ type: 'ended', reason });
}

/** Whether it may have stood still, so that the others may have taken it for dead. */
export function isStillness(reason: PeerEndReason): boolean {
  return reason === 'deadline' || reason === 'clockJump';
}
