/** What a member owes to a leader that it has heard, and to the data that it has. */

import type { Position } from '../algorithm.ts';
import type { StepContext } from './step-context.ts';

/**
 * A member that has heard a leader votes for nobody, itself included, until the leader that counts
 * on it has stopped believing; so does one that has just started, as its former self may have heard
 * one. (Ongaro, dissertation, 6.4.1; the pause after a start is what makes that hold over
 * restarts.)
 */
export function mayVote({ state, nowMs }: StepContext): boolean {
  return state.role.kind !== 'leading' && nowMs >= state.holdUntilMs && nowMs >= state.promisedUntilMs;
}

/** Below 0: the first reaches less far. (Raft, 5.4.1.) */
export function comparePositions(a: Position, b: Position): number {
  if (a.lastTerm !== b.lastTerm) return a.lastTerm < b.lastTerm ? -1 : 1;
  if (a.lastIndex === b.lastIndex) return 0;
  return a.lastIndex < b.lastIndex ? -1 : 1;
}
