/** A call's time: a transaction is one step of this process, but it may have to wait for another one's. */

import type { CallOptions } from '@incumbent/core';
import { checkCall, onAbort } from '@incumbent/core/adapter';

import { busyError, isBusy, storeClosed, toStoreError } from './errors.ts';

/** Between two tries, in ms: long enough for another's transaction, short enough to be the next, and never in step with others that wait. */
const PAUSE_MS = { min: 0.5, max: 6 };

export class Attempts {
  readonly #path: string;
  readonly #closing = new AbortController();
  #lastTurn: Promise<unknown> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Runs `step` when the file is free for it; all that it throws is mapped. What has not run when the store closes never will. Calls run in their order, but
   * an urgent one before all that wait.
   */
  async run<T>(step: () => T, options: CallOptions, urgent: boolean = false): Promise<T> {
    checkCall(options);
    const began = performance.now();
    for (;;) {
      await this.#turn(options.signal, urgent);
      try {
        return step();
      } catch (error) {
        if (!isBusy(error)) throw toStoreError(error, this.#path);
        const waitedMs = performance.now() - began;
        if (waitedMs >= options.timeoutMs) throw busyError(this.#path, waitedMs, error);
        await this.#pause(options.timeoutMs - waitedMs, options.signal);
      }
    }
  }

  close(): void {
    this.#closing.abort();
  }

  /** Never in the caller's own turn of the event loop, and one to a turn: a thousand calls at once would let no timer of this process run. */
  async #turn(signal: AbortSignal | undefined, urgent: boolean): Promise<void> {
    signal?.throwIfAborted();
    const turn = urgent ? immediate() : this.#lastTurn.then(immediate);
    if (!urgent) this.#lastTurn = turn;
    await turn;
    signal?.throwIfAborted();
    if (this.#closing.signal.aborted) throw storeClosed();
  }

  async #pause(leftMs: number, signal: AbortSignal | undefined): Promise<void> {
    const over = Promise.withResolvers<void>();
    const pauseMs = PAUSE_MS.min + Math.random() * (PAUSE_MS.max - PAUSE_MS.min);
    const timer = setTimeout(over.resolve, Math.min(pauseMs, leftMs));
    const stops = [onAbort(signal, over.resolve), onAbort(this.#closing.signal, over.resolve)];
    await over.promise;
    clearTimeout(timer);
    for (const stop of stops) stop();
  }
}

function immediate(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
