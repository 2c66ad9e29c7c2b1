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
  /** How often each event has happened. */
  readonly counts: ReadonlyMap<string, number>;
  /** A hash of all events, in order. */
  readonly hash: string;
  readonly events: number;
  /**
   * The time from the end of the storm, and from a leader's crash, until a member led again, in the
   * algorithm's unit.
   */
  readonly recoveredAfter: number;
  readonly failedOverAfter: number;
}

export interface Simulation {
  readonly name: string;
  /** The promises that hold in each world. */
  readonly claim: string;
  /** The events that any 1,000 worlds must contain. Otherwise they show nothing. */
  readonly always: readonly string[];
  /** Events that happen in a few of 1,000 worlds. */
  readonly seldom: readonly string[];
  run(seed: number, note?: Note): Outcome;
}
