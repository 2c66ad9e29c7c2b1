/** What is left of one call's time, where it takes several requests. */

import type { Clock } from '@incumbent/core';

import type { AttemptOptions, OverError } from './attempt.ts';

export class CallTime {
  readonly #clock: Clock;
  readonly #options: AttemptOptions;
  readonly #errorOf: OverError;
  readonly #endsAtMs: number;

  constructor(clock: Clock, options: AttemptOptions, errorOf: OverError) {
    this.#clock = clock;
    this.#options = options;
    this.#errorOf = errorOf;
    this.#endsAtMs = clock.monotonic() + options.timeoutMs;
  }

  get leftMs(): number {
    return this.#endsAtMs - this.#clock.monotonic();
  }

  get signal(): AbortSignal | undefined {
    return this.#options.signal;
  }

  /**
   * For the next request, or for all that are made at the same time: asked for between two of them, it might leave the first with nobody who hears of its
   * failure. Throws when there is no time: then nothing is under way, and what is not done yet is not sent.
   */
  get left(): AttemptOptions {
    const timeoutMs = this.leftMs;
    if (timeoutMs > 0) return { ...this.#options, timeoutMs };
    throw this.#errorOf({ kind: 'timeout', sent: false }, `not done within ${this.#options.timeoutMs} ms`);
  }
}
