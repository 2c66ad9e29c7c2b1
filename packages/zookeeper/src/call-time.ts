/** What is left of one call's time, where it takes several requests. */

import type { Clock } from '@incumbent/core';

import type { AttemptOptions } from './wire/attempt.ts';

export class CallTime {
  readonly #clock: Clock;
  readonly #options: AttemptOptions;
  readonly #endsAtMs: number;

  constructor(clock: Clock, options: AttemptOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#endsAtMs = clock.monotonic() + options.timeoutMs;
  }

  /** For the next request. */
  get left(): AttemptOptions {
    return { ...this.#options, timeoutMs: Math.max(this.#endsAtMs - this.#clock.monotonic(), 1) };
  }
}
