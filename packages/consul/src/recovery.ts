/** When queries that have failed may be asked again. They fail together, as they share an agent, and must not come back together again and again. */

import type { Clock, Random } from '@incumbent/core';

/** The wait after a failure doubles from the first to the last; each is spread by chance down to its half. */
const FIRST_WAIT_MS = 100;
const LAST_WAIT_MS = 1_000;

export class Recovery {
  readonly #clock: Clock;
  readonly #random: Random;
  #waitMs = FIRST_WAIT_MS;
  #notBefore = 0;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** How long to wait, in ms. */
  get leftMs(): number {
    return Math.max(this.#notBefore - this.#clock.monotonic(), 0);
  }

  /** A query was answered. */
  reset(): void {
    this.#waitMs = FIRST_WAIT_MS;
  }

  /** A query failed for what the others would run into as well. */
  hold(): void {
    if (this.leftMs > 0) return;
    this.#notBefore = this.#clock.monotonic() + this.#waitMs * (0.5 + 0.5 * (this.#random.u32() / 2 ** 32));
    this.#waitMs = Math.min(2 * this.#waitMs, LAST_WAIT_MS);
  }
}
