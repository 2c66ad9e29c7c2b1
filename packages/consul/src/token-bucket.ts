/** A token bucket: limits how often a query is sent. */

import type { Clock } from '@incumbent/core';

export interface Rate {
  /** How many requests may be sent at once. */
  readonly burst: number;
  /** After a burst, one request may be sent in each interval of this length, in ms. */
  readonly everyMs: number;
}

export class TokenBucket {
  readonly #clock: Clock;
  readonly #rate: Rate;
  /** The moment at which the bucket is full again. */
  #fullAtMs = 0;

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /** Takes one token. Returns how long the caller must wait before it uses the token, in ms. */
  take(): number {
    const { burst, everyMs } = this.#rate;
    const nowMs = this.#clock.monotonic();
    this.#fullAtMs = Math.max(this.#fullAtMs, nowMs) + everyMs;
    return Math.max(this.#fullAtMs - nowMs - burst * everyMs, 0);
  }
}
