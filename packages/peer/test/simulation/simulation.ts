/**
 * The types that all simulations share: a simulation runs worlds by seed and reports the outcome of
 * each.
 */

import type { Violation } from './checks.ts';
import type { Ground, Plan } from './faults.ts';

export type Note = (what: string, atMs: number) => void;

export interface Outcome<G extends Ground = Ground> {
  readonly plan: Plan<G>;
  readonly violations: readonly Violation[];
  /** What has happened, and how often. */
  readonly counts: ReadonlyMap<string, number>;
  /** Of all that happened, in order. */
  readonly hash: string;
  readonly events: number;
  /**
   * From the end of the storm, and from a leader's crash, until there was one again, in what the
   * algorithm measures time by.
   */
  readonly recoveredAfter: number;
  readonly failedOverAfter: number;
}

export interface Simulation {
  readonly name: string;
  /** What holds in each world. */
  readonly claim: string;
  /** What 1,000 worlds have met, whichever they are, or they show nothing. */
  readonly always: readonly string[];
  /** What happens in a few of 1,000. */
  readonly seldom: readonly string[];
  run(seed: number, note?: Note): Outcome;
}
