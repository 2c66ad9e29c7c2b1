/** One watch: reads its state when a connection is there, and again after every notification. */

import type { Cancel, Clock, Entry, WatchOptions } from '@incumbent/core';
import { watchStates, type WatchController } from '@incumbent/core/adapter';
import { type ReadQuery, WatchReader } from '@incumbent/network';

import { toStoreError } from './errors.ts';

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
  readonly #reader: WatchReader<readonly Entry[]>;

  constructor(source: WatchSource, query: ReadQuery, controller: WatchController<readonly Entry[]>) {
    this.#source = source;
    this.query = query;
    this.#controller = controller;
    this.#reader = new WatchReader({
      clock: source.clock,
      read: () => source.read(query),
      show: (entries) => controller.show(entries),
      lose: (reason) => controller.lose(reason),
      fail: (reason) => controller.fail(reason),
      toStoreError: (error) => toStoreError(error, 'watch'),
    });
  }

  start(): Cancel {
    this.#source.add(this);
    return () => {
      this.#reader.onDisconnected();
      this.#source.remove(this);
    };
  }

  fail(error: unknown): void {
    this.#controller.fail(error);
  }

  onConnected(): void {
    this.#reader.onConnected();
  }

  onDisconnected(cause: unknown): void {
    this.#reader.onDisconnected();
    this.#controller.lose(toStoreError(cause, 'watch'));
  }

  invalidate(): void {
    this.#reader.invalidate();
  }
}
