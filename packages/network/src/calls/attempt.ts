/** One call's time: it ends when the answer is there, the time is up, the caller aborts or the store closes, whichever comes first. */

import type { CallOptions, Cancel, Clock } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';

export interface AttemptOptions extends CallOptions {
  /** A call of the store's own: it does not keep the process alive. */
  readonly background?: boolean;
}

/** Why a call is over without an answer; `sent`: whether a server may have the request. */
export type Over = { readonly kind: 'timeout'; readonly sent: boolean } | { readonly kind: 'closed'; readonly sent: boolean };

/** Makes an adapter's own error of it. */
export type OverError = (over: Over, message: string) => Error;

export class Attempt {
  readonly #controller = new AbortController();
  readonly #cancels: readonly Cancel[];
  readonly #errorOf: OverError;
  /** Whether a server may have the request. */
  sent = false;

  constructor(clock: Clock, { timeoutMs, signal, background = false }: AttemptOptions, errorOf: OverError) {
    this.#errorOf = errorOf;
    this.#cancels = [
      clock.schedule(timeoutMs, () => this.#expire(timeoutMs)),
      background ? () => {} : clock.keepAlive(),
      onAbort(signal, () => this.#controller.abort(signal?.reason)),
    ];
  }

  /** Aborts when the attempt is over before its answer. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Settles as `promise` does, or rejects when the attempt is over. What is there already is not waited for. */
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

  /** The store was closed. */
  close(): void {
    this.stop(this.#errorOf({ kind: 'closed', sent: this.sent }, 'the store was closed'));
  }

  /** What the call went by is over. */
  stop(reason: Error): void {
    this.#controller.abort(reason);
  }

  /** Frees the timer and the listener. */
  end(): void {
    for (const cancel of this.#cancels) cancel();
  }

  #expire(timeoutMs: number): void {
    const what = this.sent ? 'no answer' : 'not sent';
    this.stop(this.#errorOf({ kind: 'timeout', sent: this.sent }, `${what} within ${Math.ceil(timeoutMs)} ms`));
  }
}
