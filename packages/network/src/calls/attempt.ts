/** The time limit of one call. */

import type { Cancel, Clock, TimedCall } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';

import type { OverErrorClass } from './exchange-error.ts';

/**
 * The options of one attempt at a call: those of the call, and whether the store makes it for
 * itself.
 */
export interface AttemptOptions extends TimedCall {
  /**
   * A call that the store makes for itself. It does not keep the process alive. False by default.
   */
  readonly background?: boolean;
}

/**
 * One attempt at a call. It ends when the answer arrives, the time is over, the caller aborts or
 * the store closes, whichever comes first. Call `end` in every case: it frees the timer.
 */
export class Attempt {
  readonly #controller = new AbortController();
  readonly #cancels: readonly Cancel[];
  readonly #ErrorType: OverErrorClass;
  /** Whether a server may have the request. */
  sent = false;

  constructor(clock: Clock, { timeoutMs, signal, background = false }: AttemptOptions, ErrorType: OverErrorClass) {
    this.#ErrorType = ErrorType;
    this.#cancels = [
      clock.schedule(timeoutMs, () => this.#expire(timeoutMs)),
      background ? () => {} : clock.keepAlive(),
      onAbort(signal, () => this.#controller.abort(signal?.reason)),
    ];
  }

  /** Aborts when the attempt ends without an answer. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /**
   * Settles as `promise` does, or rejects when the attempt ends. A value that is no promise is
   * returned at once.
   */
  async wait<T>(promise: Promise<T> | T): Promise<T> {
    if (!(promise instanceof Promise)) {
      this.signal.throwIfAborted();
      return promise;
    }
    const over = Promise.withResolvers<never>();
    const stop = (): void => over.reject(this.signal.reason);
    this.signal.addEventListener('abort', stop, { once: true });
    try {
      if (this.signal.aborted) stop();
      return await Promise.race([promise, over.promise]);
    } finally {
      this.signal.removeEventListener('abort', stop);
    }
  }

  /** Ends the attempt. `wait` rejects with this reason. */
  stop(reason: Error): void {
    this.#controller.abort(reason);
  }

  /** Frees the timer and the listener. */
  end(): void {
    for (const cancel of this.#cancels) cancel();
  }

  #expire(timeoutMs: number): void {
    const what = this.sent ? 'no answer' : 'not sent';
    this.stop(new this.#ErrorType({ kind: 'timeout', sent: this.sent }, `${what} within ${Math.ceil(timeoutMs)} ms`));
  }
}
