/** The checks before every call of a store, and the error after it. */

import type { CallOptions, StoreError, TimedCall } from '@incumbent/core';
import { checkCall } from '@incumbent/core/adapter';

import { closedMeanwhile, storeClosed } from '../errors/store-errors.ts';

/** What {@link CheckedCalls} needs of its adapter. */
export interface CheckedCallsOptions {
  /** The name of the store, for messages: `redis`. */
  readonly store: string;
  /** Whether the store was closed. */
  isClosed(): boolean;
  /** The error to throw for whatever a call ran into. `method` names the call, for the message. */
  toStoreError(error: unknown, method: string): StoreError;
  /** Names what the user lacks, in a `PERMISSION_DENIED`. Returns other errors unchanged. */
  nameGrant(error: StoreError): unknown;
}

/** An adapter extends this class once, by its ways to make a call. */
export class CheckedCalls {
  readonly #options: CheckedCallsOptions;

  constructor(options: CheckedCallsOptions) {
    this.#options = options;
  }

  /**
   * Returns the options with their timeout.
   *
   * @throws `INVALID_OPTION`. The reason of a signal that has aborted. `STORE_CLOSED`.
   */
  check<O extends CallOptions>(options: O): TimedCall<O> {
    const call = checkCall(options);
    options.signal?.throwIfAborted();
    if (this.#options.isClosed()) throw storeClosed(this.#options.store);
    return call;
  }

  /**
   * Runs a task. Every error of the task becomes a `StoreError`, and `STORE_CLOSED` if the store
   * was closed meanwhile.
   *
   * @throws The `StoreError`, or the signal's reason.
   */
  async call<T>(method: string, task: () => Promise<T>, { signal }: TimedCall): Promise<T> {
    const { store, isClosed, toStoreError, nameGrant } = this.#options;
    try {
      return await task();
    } catch (error) {
      if (signal?.aborted === true && error === signal.reason) throw error;
      const failure = toStoreError(error, method);
      throw isClosed() ? closedMeanwhile(failure, `${store} ${method}`) : nameGrant(failure);
    }
  }
}
