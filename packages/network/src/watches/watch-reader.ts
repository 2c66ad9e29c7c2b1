/** Reads the state of one watch, again and again. */

import type { Cancel, Clock, StoreError } from '@incumbent/core';

import { REREAD_MS } from '../calls/timing.ts';
import { endsWatch } from '../errors/store-errors.ts';

/**
 * What a {@link WatchReader} needs of its watch. The watch itself implements it, because a process
 * may have thousands of watches, and each closure takes memory.
 */
export interface ReadableWatch<State> {
  readonly clock: Clock;
  /** Reads the state. Rejects if the server refuses the read, or does not answer in time. */
  read(): Promise<State>;
  /** Receives what was read on the present connection. */
  show(state: State): void;
  /** A read has failed. It is repeated. */
  lose(reason: StoreError): void;
  /** A read has failed with an error that a retry does not solve. */
  fail(reason: StoreError): void;
  /** The error for whatever a read ran into. */
  toStoreError(error: unknown): StoreError;
}

/**
 * Reads when there is a connection, and again whenever the state may have changed, one read at a
 * time. Shows the result of a read even if something has changed meanwhile, and reads again:
 * waiting for a read without changes could take for ever. When a read has failed, repeats it after
 * 250 ms.
 */
export class WatchReader<State> {
  readonly #watch: ReadableWatch<State>;
  #cancelRetry: Cancel | undefined;
  #isConnected = false;
  #isReading = false;
  /** Counts connections: a read that began on an earlier one proves nothing for this one. */
  #connection = 0;
  /** Whether something may have changed since the current read began. */
  #mustRead = false;

  constructor(watch: ReadableWatch<State>) {
    this.#watch = watch;
  }

  /**
   * True if there is a connection and no read is under way: the state can change without a read.
   */
  get isIdle(): boolean {
    return this.#isConnected && !this.#isReading;
  }

  onConnected(): void {
    this.#isConnected = true;
    this.#connection += 1;
    this.invalidate();
  }

  /** Reads no more until `onConnected`, and ignores the result of a read that is under way. */
  onDisconnected(): void {
    this.#isConnected = false;
    this.#cancelRetry?.();
  }

  /** The state may be outdated: reads it again, now or after the read that is under way. */
  invalidate(): void {
    this.#mustRead = true;
    if (!this.#isReading) void this.#read();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    while (this.#mustRead && this.#isConnected) {
      const connection = this.#connection;
      const isCurrent = (): boolean => this.#isConnected && connection === this.#connection;
      this.#mustRead = false;
      try {
        const state = await this.#watch.read();
        if (isCurrent()) this.#watch.show(state);
      } catch (error) {
        if (isCurrent()) this.#onFailed(this.#watch.toStoreError(error));
      }
    }
    this.#isReading = false;
  }

  #onFailed(reason: StoreError): void {
    if (endsWatch(reason)) return this.#watch.fail(reason);
    this.#mustRead = false;
    this.#watch.lose(reason);
    this.#cancelRetry?.();
    this.#cancelRetry = this.#watch.clock.schedule(REREAD_MS, () => this.invalidate());
  }
}
