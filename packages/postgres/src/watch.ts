/** One watch: reads its state when a connection is there, and again after every notification. */

import type { Cancel, Clock, Entry, WatchOptions } from '@incumbent/core';
import { watchStates, type WatchController } from '@incumbent/core/adapter';
import { endsWatch } from '@incumbent/network';

import { toStoreError } from './errors.ts';
import type { ReadQuery } from './reads.ts';

/** What a watch needs from the hub of its store. */
export interface WatchSource {
  readonly clock: Clock;
  /** Calls `onConnected` of the watch, at once if there is a connection. */
  add(watch: RegisteredWatch): void;
  remove(watch: RegisteredWatch): void;
  /** Rejects if no server answers in time, or if the server refuses the read. */
  read(query: ReadQuery): Promise<readonly Entry[]>;
}

/** A watch as the hub sees it, whatever the type of its states. */
export interface RegisteredWatch {
  readonly query: ReadQuery;
  /** There is a connection, and notifications arrive on it. */
  onConnected(): void;
  onDisconnected(cause: unknown): void;
  /** The state may be outdated: read again. */
  invalidate(): void;
  /** Ends the watch with this error. */
  fail(error: unknown): void;
}

/** The time after which a read is repeated that failed while the connection stayed. */
const RETRY_MS = 250;

export function watchQuery<T>(
  source: WatchSource,
  query: ReadQuery,
  stateOf: (entries: readonly Entry[]) => T,
  options: WatchOptions,
): AsyncIterable<T> {
  return watchStates((controller) => new Watch(source, query, controller).start(), stateOf, options);
}

class Watch implements RegisteredWatch {
  readonly query: ReadQuery;
  readonly #source: WatchSource;
  readonly #controller: WatchController<readonly Entry[]>;
  #cancelRetry: Cancel | undefined;
  #isConnected = false;
  #isReading = false;
  /** Counts connections: a read that began on an earlier one proves nothing for this one. */
  #connection = 0;
  /** Whether something has changed since the current read began. */
  #mustRead = false;

  constructor(source: WatchSource, query: ReadQuery, controller: WatchController<readonly Entry[]>) {
    this.#source = source;
    this.query = query;
    this.#controller = controller;
  }

  start(): Cancel {
    this.#source.add(this);
    return () => {
      this.#isConnected = false;
      this.#cancelRetry?.();
      this.#source.remove(this);
    };
  }

  fail(error: unknown): void {
    this.#controller.fail(error);
  }

  onConnected(): void {
    this.#isConnected = true;
    this.#connection += 1;
    this.invalidate();
  }

  onDisconnected(cause: unknown): void {
    this.#isConnected = false;
    this.#controller.lose(toStoreError(cause, 'watch'));
  }

  invalidate(): void {
    this.#mustRead = true;
    if (!this.#isReading) void this.#read();
  }

  /**
   * Reads one at a time. Shows the result of a read even if something has changed meanwhile, and
   * reads again: waiting for a read without changes could take for ever.
   */
  async #read(): Promise<void> {
    this.#isReading = true;
    while (this.#mustRead && this.#isConnected) {
      const connection = this.#connection;
      const isCurrent = (): boolean => this.#isConnected && connection === this.#connection;
      this.#mustRead = false;
      try {
        const entries = await this.#source.read(this.query);
        if (isCurrent()) this.#controller.show(entries);
      } catch (error) {
        if (isCurrent()) this.#onReadFailed(error);
      }
    }
    this.#isReading = false;
  }

  #onReadFailed(error: unknown): void {
    const reason = toStoreError(error, 'watch');
    if (endsWatch(reason)) return this.fail(reason);
    this.#controller.lose(reason);
    this.#cancelRetry?.();
    this.#cancelRetry = this.#source.clock.schedule(RETRY_MS, () => {
      if (this.#isConnected) this.invalidate();
    });
  }
}
