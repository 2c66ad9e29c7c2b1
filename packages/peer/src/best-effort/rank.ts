/**
 * The precedence of members. All members compute the same order, so that of two leaders that meet,
 * exactly one stays leader.
 */

import type { Rules } from './options.ts';

/** What decides which of two members takes precedence: leaders, or members that could lead. */
export interface Precedence {
  readonly id: string;
  /**
   * Compared before the rank. The higher weight has precedence. Most algorithms give all members
   * the same weight.
   */
  readonly weight: number;
}

/** Whether `a` has precedence over `b`: by weight, then by rank. */
export function goesBefore({ ranks }: Pick<Rules, 'ranks'>, a: Precedence, b: Precedence): boolean {
  if (a.weight !== b.weight) return a.weight > b.weight;
  return (ranks.get(a.id) ?? Infinity) < (ranks.get(b.id) ?? Infinity);
}

/** Undefined: the list is empty. */
export function bestOf<T extends Precedence>(rules: Pick<Rules, 'ranks'>, all: readonly T[]): T | undefined {
  return all.reduce<T | undefined>((best, one) => (best === undefined || goesBefore(rules, one, best) ? one : best), undefined);
}

/** The best first. */
export function inOrder<T extends Precedence>(rules: Pick<Rules, 'ranks'>, all: readonly T[]): readonly T[] {
  return all.toSorted((a, b) => (goesBefore(rules, a, b) ? -1 : 1));
}
