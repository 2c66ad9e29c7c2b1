/** A call's time: a transaction is one step of this process, but it may have to wait for its turn, and for another process's transaction. */

import type { CallOptions, Cancel } from '@incumbent/core';
import { checkCall, onAbort } from '@incumbent/core/adapter';

import { busyError, crowdedError, isBusy, storeClosed, toStoreError } from '../errors.ts';
import { Line } from './task-queue.ts';

/** Between two tries, in ms: long enough for another's transaction, short enough to be the next, and never in step with others that wait. */
const PAUSE_MS = { min: 0.5, max: 6 };

/** A timer of Node with a longer delay fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface AttemptOptions extends CallOptions {
  /** Before all that wait. */
  readonly urgent?: boolean;
}

type Ended<T> = { readonly value: T } | { readonly error: unknown };

/** Begins something that calls `done` later, unless it is cancelled. */
type Begin = (done: () => void) => Cancel;

export class Attempts {
  readonly #path: string;
  readonly #line = new Line();
  readonly #closing = new AbortController();

  constructor(path: string) {
    this.#path = path;
  }

  /** Runs `step` when the file is free for it; all that it throws is mapped. What has not run when the time is up, or the store closes, never will. */
  async run<T>(step: () => T, options: AttemptOptions): Promise<T> {
    checkCall(options);
    const { signal, timeoutMs, urgent = false } = options;
    const began = performance.now();
    const waitedMs = (): number => performance.now() - began;
    let busy: { readonly error: unknown } | undefined;
    for (;;) {
      const ended = await this.#step(step, urgent, timeoutMs - waitedMs(), signal);
      if (ended !== undefined && 'value' in ended) return ended.value;
      if (ended !== undefined && !isBusy(ended.error)) throw toStoreError(ended.error, this.#path);
      busy = ended ?? busy;
      if (ended !== undefined) await this.#wait(pause, timeoutMs - waitedMs(), signal);
      if (waitedMs() < timeoutMs) continue;
      throw busy === undefined ? crowdedError(this.#path, timeoutMs) : busyError(this.#path, waitedMs(), busy.error);
    }
  }

  close(): void {
    this.#closing.abort();
  }

  /** Undefined: the time was up before its turn came. */
  async #step<T>(step: () => T, urgent: boolean, withinMs: number, signal: AbortSignal | undefined): Promise<Ended<T> | undefined> {
    let ended: Ended<T> | undefined;
    const begin: Begin = (done) =>
      this.#line.join(() => {
        ended = endOf(step);
        done();
      }, urgent);
    await this.#wait(begin, withinMs, signal);
    return ended;
  }

  /** Resolves when it is done, or the time is up; rejects when the caller aborts, or the store closes. */
  async #wait(begin: Begin, withinMs: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const cancels = [
      onAbort(signal, () => reject(signal?.reason)),
      onAbort(this.#closing.signal, () => reject(storeClosed())),
      after(withinMs, resolve),
      begin(resolve),
    ];
    try {
      await promise;
    } finally {
      for (const cancel of cancels) cancel();
    }
  }
}

function endOf<T>(step: () => T): Ended<T> {
  try {
    return { value: step() };
  } catch (error) {
    return { error };
  }
}

function after(ms: number, task: () => void): Cancel {
  const timer = setTimeout(task, Math.min(Math.max(ms, 1), MAX_TIMER_MS));
  return () => clearTimeout(timer);
}

function pause(done: () => void): Cancel {
  return after(PAUSE_MS.min + Math.random() * (PAUSE_MS.max - PAUSE_MS.min), done);
}
