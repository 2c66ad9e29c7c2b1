/**
 * One watch: reads its state when a connection is there, and keeps it up to date by published
 * changes.
 */

import type { Cancel, Clock, LeaseId, WatchOptions } from '@incumbent/core';
import { watchStates, type WatchController } from '@incumbent/core/adapter';
import { endsWatch, REREAD_MS } from '@incumbent/network';

import { toStoreError } from './errors.ts';
import type { Change } from './protocol/changes.ts';
import type { StoredEntry } from './protocol/entries.ts';
import type { ReadQuery } from './reads.ts';
import type { WatchState } from './watch-state.ts';

/** What a watch needs from the hub of its store. */
export interface WatchSource {
  readonly clock: Clock;
  /** Calls `onConnected` of the watch, at once if there is a connection. */
  add(watch: RegisteredWatch): void;
  remove(watch: RegisteredWatch): void;
  /** Rejects if the connection is lost, or if the server refuses the read. */
  read(query: ReadQuery): Promise<readonly StoredEntry[]>;
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
  return watchStates((controller) => new Watch(source, state(), controller).start(), snapshotOf<T>, options);
}

function snapshotOf<T>(state: WatchState<T>): T {
  return state.snapshot();
}

class Watch<T> implements RegisteredWatch {
  readonly #source: WatchSource;
  readonly #state: WatchState<T>;
  readonly #controller: WatchController<WatchState<T>>;
  #cancelRetry: Cancel | undefined;
  #isConnected = false;
  #isReading = false;
  /** Whether the state was read on this connection and has every change since. */
  #isComplete = false;
  /** Whether something has changed since the current read began. */
  #mustRead = false;

  constructor(source: WatchSource, state: WatchState<T>, controller: WatchController<WatchState<T>>) {
    this.#source = source;
    this.#state = state;
    this.#controller = controller;
  }

  get query(): ReadQuery {
    return this.#state.query;
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
    this.invalidate();
  }

  onDisconnected(cause: unknown): void {
    this.#isConnected = false;
    this.#isComplete = false;
    this.#controller.lose(toStoreError(cause, 'watch'));
  }

  onChanges(changes: readonly Change[]): void {
    if (!this.#isConnected || this.#isReading) return this.invalidate();
    // The state is incomplete only after a read has failed, and another read is scheduled.
    if (!this.#isComplete) return;
    if (!this.#state.apply(changes)) return this.invalidate();
    this.#show();
  }

  onLeaseEnded(lease: LeaseId): void {
    if (!this.#isConnected || this.#isReading) return this.invalidate();
    if (!this.#isComplete) return;
    this.#state.removeLease(lease);
    this.#show();
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
      this.#mustRead = false;
      try {
        const entries = await this.#source.read(this.query);
        if (!this.#isConnected) break;
        this.#state.reset(entries);
        this.#isComplete = true;
        this.#show();
      } catch (error) {
        if (this.#isConnected) this.#onReadFailed(error);
        break;
      }
    }
    this.#isReading = false;
    // The connection was lost and replaced during the read.
    if (this.#mustRead && this.#isConnected) void this.#read();
  }

  #onReadFailed(error: unknown): void {
    const reason = toStoreError(error, 'watch');
    if (endsWatch(reason)) return this.fail(reason);
    this.#mustRead = false;
    this.#isComplete = false;
    this.#controller.lose(reason);
    this.#cancelRetry?.();
    this.#cancelRetry = this.#source.clock.schedule(REREAD_MS, () => {
      if (this.#isConnected) this.invalidate();
    });
  }

  #show(): void {
    this.#source.trackLeases(this, this.#state.entries());
    this.#controller.show(this.#state);
  }
}
