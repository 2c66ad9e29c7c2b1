/** How often a query may be asked: a few times at once, and then so many a second. */

import type { Clock } from '@incumbent/core';

export interface Rate {
  readonly burst: number;
  readonly everyMs: number;
}

export class Bucket {
  readonly #clock: Clock;
  readonly #rate: Rate;
  /** When it would be full again. */
  #fullAt = 0;

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /** Takes one; answers how long to wait before using it, in ms. */
  take(): number {
    const { burst, everyMs } = this.#rate;
    const now = this.#clock.monotonic();
    this.#fullAt = Math.max(this.#fullAt, now) + everyMs;
    return Math.max(this.#fullAt - now - burst * everyMs, 0);
  }
}
