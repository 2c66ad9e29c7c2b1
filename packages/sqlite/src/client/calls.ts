/**
 * Runs the calls of a store within their timeouts. A call is one synchronous step on the file. It
 * may have to wait for earlier calls of this process, and for transactions of other processes.
 */

import type { CallOptions, Cancel } from '@incumbent/core';
import { checkCall, onAbort } from '@incumbent/core/adapter';

import { busyError, crowdedError, isBusy, storeClosed, toStoreError } from '../errors.ts';
import type { Database } from './database.ts';
import { TaskQueue } from './task-queue.ts';

/**
 * The pause between two tries on a locked file, in ms: long enough for another process's
 * transaction, short enough to be next, and random, so that waiting processes do not keep step.
 */
const PAUSE_MS = { min: 0.5, max: 6 };

/** Node runs a timer with a longer delay at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface RunOptions extends CallOptions {
  /** Whether the call runs before all calls that wait. Default false. */
  readonly urgent?: boolean;
}

type Result<T> = { readonly value: T } | { readonly error: unknown };

/** Starts something that calls `done` later, unless it is cancelled. */
type Start = (done: () => void) => Cancel;

export class Calls {
  readonly #database: Database;
  readonly #queue = new TaskQueue();
  readonly #closing = new AbortController();
  #afterWrite: () => void = () => {};

  constructor(database: Database) {
    this.#database = database;
  }

  /** Sets what is called after every `write`, whatever its outcome. */
  onWrite(listener: () => void): void {
    this.#afterWrite = listener;
  }

  /**
   * Runs `step`, and tries again while the file is locked. Rejects with a `StoreError` for every
   * error of the step, or with the signal's reason. A step that has not run by the timeout, or by
   * the closing of the store, never runs.
   */
  async run<T>(step: (database: Database) => T, options: RunOptions): Promise<T> {
    const { urgent = false, ...call } = options;
    const { signal, timeoutMs } = checkCall(call);
    const { path } = this.#database;
    const began = performance.now();
    const waitedMs = (): number => performance.now() - began;
    let busy: { readonly error: unknown } | undefined;
    for (;;) {
      const result = await this.#try(step, urgent, timeoutMs - waitedMs(), signal);
      if (result !== undefined && 'value' in result) return result.value;
      if (result !== undefined && !isBusy(result.error)) throw toStoreError(result.error, path);
      busy = result ?? busy;
      if (result !== undefined) await this.#wait(pause, timeoutMs - waitedMs(), signal);
      if (waitedMs() < timeoutMs) continue;
      throw busy === undefined ? crowdedError(path, timeoutMs) : busyError(path, waitedMs(), busy.error);
    }
  }

  /** Like `run`, for a step that changes keys: this process's own watches must read the change. */
  async write<T>(step: (database: Database) => T, options: RunOptions): Promise<T> {
    try {
      return await this.run(step, options);
    } finally {
      // After an error too, because the write may have happened.
      this.#afterWrite();
    }
  }

  /** Rejects the calls that wait with `STORE_CLOSED`. */
  close(): void {
    this.#closing.abort();
  }

  /** Undefined: the time was up before the step could run. */
  async #try<T>(
    step: (database: Database) => T,
    urgent: boolean,
    withinMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Result<T> | undefined> {
    let result: Result<T> | undefined;
    const start: Start = (done) =>
      this.#queue.add(() => {
        result = resultOf(() => step(this.#database));
        done();
      }, urgent);
    await this.#wait(start, withinMs, signal);
    return result;
  }

  /**
   * Resolves when `done` was called or the time is up. Rejects when the caller aborts or the store
   * closes.
   */
  async #wait(start: Start, withinMs: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const cancels = [
      onAbort(signal, () => reject(signal?.reason)),
      onAbort(this.#closing.signal, () => reject(storeClosed())),
      after(withinMs, resolve),
      start(resolve),
    ];
    try {
      await promise;
    } finally {
      for (const cancel of cancels) cancel();
    }
  }
}

function resultOf<T>(step: () => T): Result<T> {
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
