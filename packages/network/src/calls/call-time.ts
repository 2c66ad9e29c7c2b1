/** The time limit of one call that takes several requests. */

import type { Clock } from '@incumbent/core';

import type { AttemptOptions } from './attempt.ts';
import type { OverErrorClass } from './exchange-error.ts';

/** Counts down the time of one call, so that each of its requests gets what is left. */
export class CallTime {
  readonly #clock: Clock;
  readonly #options: AttemptOptions;
  readonly #ErrorType: OverErrorClass;
  readonly #endsAtMs: number;

  constructor(clock: Clock, options: AttemptOptions, ErrorType: OverErrorClass) {
    this.#clock = clock;
    this.#options = options;
    this.#ErrorType = ErrorType;
    this.#endsAtMs = clock.monotonic() + options.timeoutMs;
  }

  get leftMs(): number {
    return this.#endsAtMs - this.#clock.monotonic();
  }

  get signal(): AbortSignal | undefined {
    return this.#options.signal;
  }

  /**
   * The options for the next request, or for several that start together. Read them before starting
   * any of the requests: an exception between two starts would leave the rejection of the first one
   * unhandled.
   *
   * @throws The adapter's error of the kind `timeout` if no time is left. The next request has then
   * not been sent.
   */
  get left(): AttemptOptions {
    const timeoutMs = this.leftMs;
    if (timeoutMs > 0) return { ...this.#options, timeoutMs };
    throw new this.#ErrorType({ kind: 'timeout', sent: false }, `not done within ${this.#options.timeoutMs} ms`);
  }
}
