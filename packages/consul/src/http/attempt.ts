/** One call's time: it ends when the answer is there, the time is up, the caller aborts or the store closes, whichever comes first. */

import type { CallOptions, Cancel, Clock } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';

import { ExchangeError } from './failure.ts';

export interface AttemptOptions extends CallOptions {
  /** A call of the store's own: it does not keep the process alive. */
  readonly background?: boolean;
}

export class Attempt {
  readonly #over = new AbortController();
  readonly #cancels: readonly Cancel[];
  /** Whether the agent may have the request. */
  sent = false;

  constructor(clock: Clock, { timeoutMs, signal, background = false }: AttemptOptions) {
    this.#cancels = [
      clock.schedule(timeoutMs, () => this.#expire(timeoutMs)),
      background ? () => {} : clock.hold(),
      onAbort(signal, () => this.#over.abort(signal?.reason)),
    ];
  }

  /** Aborts when the attempt is over before its answer. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  close(): void {
    this.#over.abort(new ExchangeError({ kind: 'closed', sent: this.sent }, 'the store was closed'));
  }

  /** Frees the timer and the listener. */
  end(): void {
    for (const cancel of this.#cancels) cancel();
  }

  #expire(timeoutMs: number): void {
    const what = this.sent ? 'no answer' : 'not sent';
    this.#over.abort(new ExchangeError({ kind: 'timeout', sent: this.sent }, `${what} within ${timeoutMs} ms`));
  }
}
