/**
 * Who goes before whom: an order that all members see in the same way, so that where two leaders
 * meet, one of them stays.
 */

import type { Rules } from './options.ts';

/** A member as a leader, or as one that could be. */
export interface Standing {
  readonly id: string;
  /** What counts before the rank; more goes first. In most algorithms it is the same for all. */
  readonly weight: number;
}

/** By weight, then by rank. */
export function goesBefore({ ranks }: Pick<Rules, 'ranks'>, a: Standing, b: Standing): boolean {
  if (a.weight !== b.weight) return a.weight > b.weight;
  return (ranks.get(a.id) ?? Infinity) < (ranks.get(b.id) ?? Infinity);
}

/** Undefined where there is none. */
export function bestOf<T extends Standing>(rules: Pick<Rules, 'ranks'>, all: readonly T[]): T | undefined {
  return all.reduce<T | undefined>((best, one) => (best === undefined || goesBefore(rules, one, best) ? one : best), undefined);
}

/** The best first. */
export function inOrder<T extends Standing>(rules: Pick<Rules, 'ranks'>, all: readonly T[]): readonly T[] {
  return all.toSorted((a, b) => (goesBefore(rules, a, b) ? -1 : 1));
}
