/** All calls of one client. */

import type { Clock } from '@incumbent/core';

import { Attempt, type AttemptOptions } from './attempt.ts';
import type { OverErrorClass } from './exchange-error.ts';

/**
 * Runs the calls of one client, each with its time limit and its caller's signal, and ends all of
 * them when the client closes. A call that starts after the close is rejected before anything is
 * sent.
 */
export class Calls {
  readonly #clock: Clock;
  readonly #ErrorType: OverErrorClass;
  readonly #attempts = new Set<Attempt>();
  #reasonOf: ((sent: boolean) => Error) | undefined;

  constructor(clock: Clock, ErrorType: OverErrorClass) {
    this.#clock = clock;
    this.#ErrorType = ErrorType;
  }

  /** Whether `close` or `end` was called. */
  get closed(): boolean {
    return this.#reasonOf !== undefined;
  }

  /**
   * Runs one call. `task` sets `attempt.sent` before it sends the request, and awaits everything
   * through `attempt.wait`. Rejects as the task does: at a timeout or a close with the adapter's
   * error, at an abort with the signal's reason.
   */
  async run<T>(options: AttemptOptions, task: (attempt: Attempt) => Promise<T>): Promise<T> {
    options.signal?.throwIfAborted();
    if (this.#reasonOf !== undefined) throw this.#reasonOf(false);
    const attempt = new Attempt(this.#clock, options, this.#ErrorType);
    this.#attempts.add(attempt);
    try {
      return await task(attempt);
    } finally {
      this.#attempts.delete(attempt);
      attempt.end();
    }
  }

  /** Ends all calls with the failure `closed`. Idempotent. */
  close(): void {
    this.end((sent) => new this.#ErrorType({ kind: 'closed', sent }, 'the store was closed'));
  }

  /**
   * Ends all calls, and rejects later ones, with this reason. Idempotent: the first reason counts.
   */
  end(reasonOf: (sent: boolean) => Error): void {
    if (this.#reasonOf !== undefined) return;
    this.#reasonOf = reasonOf;
    for (const attempt of this.#attempts) attempt.stop(reasonOf(attempt.sent));
  }
}
