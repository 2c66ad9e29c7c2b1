/** When a member may vote, and how far its data reach. */

import type { Position } from '../algorithm.ts';
import type { StepContext } from './step-context.ts';

/**
 * Whether this member may vote. False while a leader relies on this member: a member that has heard
 * a leader votes for nobody, itself included, until that leadership cannot be valid any more. Also
 * false for a while after a start, because the member may have heard a leader before it crashed.
 * (Ongaro's dissertation, 6.4.1. The pause after a start extends the rule across restarts.)
 */
export function mayVote({ state, nowMs }: StepContext): boolean {
  return state.role.kind !== 'leading' && nowMs >= state.holdUntilMs && nowMs >= state.promisedUntilMs;
}

/** Compares how far data reach: negative if `a` reaches less far than `b`. (Raft, 5.4.1.) */
export function comparePositions(a: Position, b: Position): number {
  if (a.lastTerm !== b.lastTerm) return a.lastTerm < b.lastTerm ? -1 : 1;
  if (a.lastIndex === b.lastIndex) return 0;
  return a.lastIndex < b.lastIndex ? -1 : 1;
}
