/**
 * One watch: reads its state when a connection is there, and keeps it up to date by published
 * changes.
 */

import type { Cancel, Clock, LeaseId, StoreError, WatchOptions } from '@incumbent/core';
import { watchStates, type WatchController } from '@incumbent/core/adapter';
import { type ReadableWatch, type ReadQuery, WatchReader } from '@incumbent/network';

import { toStoreError } from './errors.ts';
import type { Change } from './protocol/changes.ts';
import type { StoredEntry } from './protocol/entries.ts';
import type { WatchState } from './watch-state.ts';

/** What a watch needs from the hub of its store. */
export interface WatchSource {
  readonly clock: Clock;
  /** Calls `onConnected` of the watch, at once if there is a connection. */
  add(watch: RegisteredWatch): void;
  remove(watch: RegisteredWatch): void;
  /** Rejects if the connection is lost, or if the server refuses the read. */
  read(query: ReadQuery): Promise<readonly StoredEntry[]>;
  /** The error with what the user lacks, if the server denied permission. */
  nameGrant(error: unknown): unknown;
  /** The watch depends on the leases of these entries, and on no others. */
  trackLeases(watch: RegisteredWatch, entries: Iterable<StoredEntry>): void;
}

/** A watch as the hub sees it, whatever the type of its states. */
export interface RegisteredWatch {
  readonly query: ReadQuery;
  /** There is a connection, and changes arrive on it. */
  onConnected(): void;
  onDisconnected(cause: unknown): void;
  /** One script has changed these keys of the watch. */
  onChanges(changes: readonly Change[]): void;
  onLeaseEnded(lease: LeaseId): void;
  /** The state may be outdated: read again. */
  invalidate(): void;
  /** Ends the watch with this error. */
  fail(error: unknown): void;
}

export function watchState<T>(source: WatchSource, state: () => WatchState<T>, options: WatchOptions): AsyncIterable<T> {
  return watchStates((controller) => new Watch(source, state(), controller).start(), takeFrom<T>, options);
}

function takeFrom<T>(state: WatchState<T>): T {
  return state.take();
}

class Watch<T> implements RegisteredWatch, ReadableWatch<readonly StoredEntry[]> {
  readonly #source: WatchSource;
  readonly #state: WatchState<T>;
  readonly #controller: WatchController<WatchState<T>>;
  readonly #reader: WatchReader<readonly StoredEntry[]>;
  /** Whether the state was read on this connection and has every change since. */
  #isComplete = false;

  constructor(source: WatchSource, state: WatchState<T>, controller: WatchController<WatchState<T>>) {
    this.#source = source;
    this.#state = state;
    this.#controller = controller;
    this.#reader = new WatchReader(this);
  }

  get clock(): Clock {
    return this.#source.clock;
  }

  get query(): ReadQuery {
    return this.#state.query;
  }

  start(): Cancel {
    this.#source.add(this);
    return () => {
      this.#reader.onDisconnected();
      this.#source.remove(this);
    };
  }

  read(): Promise<readonly StoredEntry[]> {
    return this.#source.read(this.query);
  }

  show(entries: readonly StoredEntry[]): void {
    this.#state.reset(entries);
    this.#isComplete = true;
    this.#show();
  }

  lose(reason: StoreError): void {
    this.#isComplete = false;
    this.#controller.lose(reason);
  }

  fail(error: unknown): void {
    this.#controller.fail(this.#source.nameGrant(error));
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

  onChanges(changes: readonly Change[]): void {
    if (!this.#reader.isIdle) return this.invalidate();
    // The state is incomplete only after a read has failed, and another read is scheduled.
    if (!this.#isComplete) return;
    if (!this.#state.apply(changes)) return this.invalidate();
    this.#show();
  }

  onLeaseEnded(lease: LeaseId): void {
    if (!this.#reader.isIdle) return this.invalidate();
    if (!this.#isComplete) return;
    if (this.#state.removeLease(lease)) this.#show();
  }

  invalidate(): void {
    this.#reader.invalidate();
  }

  #show(): void {
    this.#source.trackLeases(this, this.#state.entries());
    this.#controller.show(this.#state);
  }
}
