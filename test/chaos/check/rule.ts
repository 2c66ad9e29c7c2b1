/** What a checker reports. */

import type { ChaosEvent, FaultEvent, RunHeader } from '../history.ts';

/** A promise that a history breaks. */
export interface Violation {
  /** The promise, in the same words as in the simulator. */
  readonly promise: string;
  /** In ms since the run began. */
  readonly at: number;
  readonly what: string;
}

/**
 * Reads a whole history and reports the promises that it breaks. Does not know how elections work.
 */
export type Rule = (history: readonly ChaosEvent[], header: RunHeader) => readonly Violation[];

/** One fault from its beginning to its end. The end is Infinity while the fault lasts. */
export interface Span {
  readonly id: number;
  readonly fault: string;
  readonly target: string;
  readonly from: number;
  readonly to: number;
}

/**
 * All faults that may have had an effect: those that began, whether or not their effect was seen.
 */
export function spansOf(faults: readonly FaultEvent[]): readonly Span[] {
  const ends = new Map(faults.flatMap(({ id, at, what }) => (what === 'ends' || what === 'missed' ? [[id, at] as const] : [])));
  return faults.flatMap(({ id, at, fault, target, what }) =>
    what === 'begins' ? [{ id, fault, target, from: at, to: ends.get(id) ?? Infinity }] : [],
  );
}

/** Whether a fault was active at this moment, or shortly before. */
export function isAround({ from, to }: Span, at: number, withinMs: number): boolean {
  return from <= at && at <= to + withinMs;
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(3)} s`;
}

export function nameOf({ who, term }: { readonly who: string; readonly term: bigint }): string {
  return `${who} (term ${term})`;
}
