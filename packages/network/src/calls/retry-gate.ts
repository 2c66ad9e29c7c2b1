/** When calls that fail together may be tried again. */

import type { Clock, Random } from '@incumbent/core';
import { Backoff } from '@incumbent/core/adapter';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1_000;

/**
 * One pause for all who share a server, a connection or a query. Many watches lose it at the same
 * moment: each of them reports the failure, and all wait for the same pause. Pauses double from 100
 * ms to 1 s, each shortened at random to no less than its half.
 */
export class RetryGate {
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  #openAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#backoff = new Backoff(random, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  }

  /** How long to wait before the next try, in ms. 0 if the gate is open. */
  get leftMs(): number {
    return Math.max(this.#openAtMs - this.#clock.monotonic(), 0);
  }

  /** Starts a pause after a failure that the others would meet too. Does nothing during a pause. */
  hold(): void {
    if (this.leftMs === 0) this.#openAtMs = this.#clock.monotonic() + this.#backoff.next();
  }

  /** A try succeeded: the next pause is short again. Does not end a pause. */
  reset(): void {
    this.#backoff.reset();
  }
}
