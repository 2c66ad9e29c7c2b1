/** One watch: reads its state when a connection is there, and again after every notification. */

import type { Cancel, Clock, Entry, StoreError, WatchOptions } from '@incumbent/core';
import { watchStates, type WatchController } from '@incumbent/core/adapter';
import { type ReadableWatch, type ReadQuery, WatchReader } from '@incumbent/network';

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

class Watch implements RegisteredWatch, ReadableWatch<readonly Entry[]> {
  readonly query: ReadQuery;
  readonly #source: WatchSource;
  readonly #controller: WatchController<readonly Entry[]>;
  readonly #reader: WatchReader<readonly Entry[]>;

  constructor(source: WatchSource, query: ReadQuery, controller: WatchController<readonly Entry[]>) {
    this.#source = source;
    this.query = query;
    this.#controller = controller;
    this.#reader = new WatchReader(this);
  }

  get clock(): Clock {
    return this.#source.clock;
  }

  start(): Cancel {
    this.#source.add(this);
    return () => {
      this.#reader.onDisconnected();
      this.#source.remove(this);
    };
  }

  read(): Promise<readonly Entry[]> {
    return this.#source.read(this.query);
  }

  show(entries: readonly Entry[]): void {
    this.#controller.show(entries);
  }

  lose(reason: StoreError): void {
    this.#controller.lose(reason);
  }

  fail(error: unknown): void {
    this.#controller.fail(error);
  }

  toStoreError(error: unknown): StoreError {
    return toStoreError(error, 'watch');
  }

  onConnected(): void {
    this.#reader.onConnected();
  }

  onDisconnected(cause: unknown): void {
    this.#reader.onDisconnected();
    this.lose(this.toStoreError(cause));
  }

  invalidate(): void {
    this.#reader.invalidate();
  }
}
