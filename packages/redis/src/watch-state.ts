/**
 * What a watch knows of its part of the store. Reads fill it, and published changes keep it up to
 * date.
 */

import type { Entry, Key, LeaseId } from '@incumbent/core';
import type { ReadQuery } from '@incumbent/network';

import type { Change } from './protocol/changes.ts';
import type { StoredEntry } from './protocol/entries.ts';

export interface WatchState<T> {
  /** What to read. */
  readonly query: ReadQuery;
  /** Replaces everything with the result of a read. */
  reset(entries: readonly StoredEntry[]): void;
  /**
   * Applies the changes that one script has made to keys of this watch, in order. Returns false,
   * and applies none, if one of them does not say what the key has become.
   */
  apply(changes: readonly Change[]): boolean;
  /** Removes the keys of a lease that has ended. Returns whether there were any. */
  removeLease(lease: LeaseId): boolean;
  /** Called after each change. */
  entries(): Iterable<StoredEntry>;
  /** What the iterator of the watch yields. Called at most once after each change. */
  take(): T;
}

/**
 * Keeps no entry that was taken: a process may watch thousands of keys that do not change, and
 * their values would take more memory than their watches.
 */
export class KeyWatchState implements WatchState<Entry | undefined> {
  readonly query: { readonly key: Key };
  #stored: StoredEntry | undefined;
  #lease: LeaseId | undefined;

  constructor(key: Key) {
    this.query = { key };
  }

  reset([stored]: readonly StoredEntry[]): void {
    this.#set(stored);
  }

  apply(changes: readonly Change[]): boolean {
    const last = changes.at(-1);
    if (last?.kind === 'changed') return false;
    this.#set(last?.kind === 'put' ? last.stored : undefined);
    return true;
  }

  removeLease(lease: LeaseId): boolean {
    if (lease !== this.#lease) return false;
    this.#set(undefined);
    return true;
  }

  entries(): Iterable<StoredEntry> {
    return this.#stored === undefined ? [] : [this.#stored];
  }

  take(): Entry | undefined {
    const entry = this.#stored?.entry;
    this.#stored = undefined;
    return entry;
  }

  #set(stored: StoredEntry | undefined): void {
    this.#stored = stored;
    this.#lease = stored?.entry.lease;
  }
}

export class ListWatchState implements WatchState<readonly Entry[]> {
  readonly query: { readonly prefix: Key };
  readonly #stored = new Map<Key, StoredEntry>();

  constructor(prefix: Key) {
    this.query = { prefix };
  }

  reset(entries: readonly StoredEntry[]): void {
    this.#stored.clear();
    for (const stored of entries) this.#stored.set(stored.entry.key, stored);
  }

  apply(changes: readonly Change[]): boolean {
    if (changes.some(({ kind }) => kind === 'changed')) return false;
    for (const change of changes) {
      if (change.kind === 'put') this.#stored.set(change.key, change.stored);
      else this.#stored.delete(change.key);
    }
    return true;
  }

  removeLease(lease: LeaseId): boolean {
    const before = this.#stored.size;
    for (const [key, { entry }] of this.#stored) if (entry.lease === lease) this.#stored.delete(key);
    return this.#stored.size < before;
  }

  entries(): Iterable<StoredEntry> {
    return this.#stored.values();
  }

  take(): readonly Entry[] {
    return Array.from(this.#stored.values(), ({ entry }) => entry).toSorted((a, b) => Number(a.order - b.order));
  }
}
