/** One call's time: it ends when the answer is there, the time is up, the caller aborts or the store closes, whichever comes first. */

import type { CallOptions } from '@incumbent/core';

import { ExchangeError } from './grpc/failure.ts';

/** A timer of Node with a longer delay fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface AttemptOptions extends CallOptions {
  /** A call of the store's own: it does not keep the process alive. */
  readonly background?: boolean;
}

export class Attempt {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #caller: AbortSignal | undefined;
  readonly #onAbort = (): void => this.#controller.abort(this.#caller?.reason);
  /** Whether the server may have the request. */
  sent = false;

  constructor({ timeoutMs, signal, background = false }: AttemptOptions) {
    this.#caller = signal;
    this.#timer = setTimeout(() => this.#expire(timeoutMs), Math.min(timeoutMs, MAX_TIMER_MS));
    if (background) this.#timer.unref();
    signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Aborts when the attempt is over before its answer. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Settles as `promise` does, or rejects when the attempt is over. */
  async wait<T>(promise: Promise<T>): Promise<T> {
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
    this.#controller.abort(new ExchangeError({ kind: 'closed', sent: this.sent }, 'the store was closed'));
  }

  /** Frees the timer and the listener. */
  end(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener('abort', this.#onAbort);
  }

  #expire(timeoutMs: number): void {
    const what = this.sent ? 'no answer' : 'not sent';
    this.#controller.abort(new ExchangeError({ kind: 'timeout', sent: this.sent }, `${what} within ${timeoutMs} ms`));
  }
}
