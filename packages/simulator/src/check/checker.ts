/** What every checker of a run is: it hears of everything that happens, and says which promises were broken. */

import type { Listener } from '../event.ts';

/** A broken promise. */
export interface Violation {
  /** The promise's name: the same for every way to break it. */
  readonly promise: string;
  readonly atMs: number;
  readonly what: string;
}

export interface Checker extends Listener {
  readonly violations: readonly Violation[];
}

/** Keeps what was broken: the first few, as one bug breaks a promise again and again. */
export class Findings {
  readonly all: Violation[] = [];

  add(promise: string, atMs: number, what: string): void {
    if (this.all.length < 20) this.all.push({ promise, atMs, what });
  }
}
