/** What a watch last saw of its part of the store. */

import type { Entry, Key, Revision } from '@incumbent/core';

import { modRevisionOf, type Namespace } from './namespace.ts';
import type { KeyRange, KeyValue, RangeRequest } from './protocol/kv.ts';
import type { WatchEvent } from './protocol/watch.ts';

export interface WatchState<T> {
  /** The range to read and to watch. */
  readonly request: RangeRequest;
  readonly namespace: Namespace;
  /** False while nothing but a revision is known, after which the watch begins. */
  readonly isKnown: boolean;
  /**
   * The revision after which the watch may begin without a read. Undefined from the second call on,
   * because a revision that the server refuses would be refused again.
   */
  takeSince(): bigint | undefined;
  /** Replaces the state by what was read at a revision. */
  reset(kvs: readonly KeyValue[], revision: bigint): void;
  /**
   * Applies the events since then, in order. Ignores events of other keys, and events that are not
   * newer than the read, or than the revision after which the watch began: a server that was
   * restored or that lags behind may send such events.
   */
  apply(events: readonly WatchEvent[]): void;
  /** The state as the store contract shows it. */
  state(): T;
}

export class KeyWatchState implements WatchState<Entry | undefined> {
  readonly request: KeyRange;
  readonly namespace: Namespace;
  #entry: Entry | undefined;
  #revision = 0n;
  #since: bigint | undefined;
  isKnown = false;

  /** `since`: see `KeyWatchOptions`. */
  constructor(namespace: Namespace, key: Key, since: Revision = '') {
    this.namespace = namespace;
    this.request = { key: namespace.key(key) };
    const revision = modRevisionOf(since);
    this.#since = revision > 0n ? revision : undefined;
  }

  takeSince(): bigint | undefined {
    const since = this.#since;
    this.#since = undefined;
    if (since !== undefined) this.#revision = since;
    return since;
  }

  reset([kv]: readonly KeyValue[], revision: bigint): void {
    this.#entry = kv && this.namespace.entry(kv);
    this.#revision = revision;
    this.isKnown = true;
  }

  apply(events: readonly WatchEvent[]): void {
    for (const { deleted, kv } of events) {
      if (kv.key !== this.request.key || kv.modRevision <= this.#revision) continue;
      this.#revision = kv.modRevision;
      this.#entry = deleted ? undefined : this.namespace.entry(kv);
      this.isKnown = true;
    }
  }

  state(): Entry | undefined {
    return this.#entry;
  }
}

export class ListWatchState implements WatchState<readonly Entry[]> {
  readonly request: RangeRequest;
  readonly namespace: Namespace;
  readonly isKnown = true;
  /**
   * In the order of creation: the read returns them in this order, new keys are appended, and a
   * changed key keeps its position.
   */
  readonly #kvs = new Map<string, KeyValue>();
  #revision = 0n;

  constructor(namespace: Namespace, prefix: Key) {
    this.namespace = namespace;
    this.request = { ...namespace.under(prefix), byCreation: 'ascending' };
  }

  takeSince(): undefined {
    return undefined;
  }

  reset(kvs: readonly KeyValue[], revision: bigint): void {
    this.#kvs.clear();
    this.#revision = revision;
    for (const kv of kvs) this.#kvs.set(kv.key, kv);
  }

  apply(events: readonly WatchEvent[]): void {
    const before = this.#revision;
    for (const { deleted, kv } of events) {
      // One revision may change several keys. Its events arrive in one answer.
      if (!this.#covers(kv.key) || kv.modRevision <= before) continue;
      this.#revision = kv.modRevision;
      if (deleted) this.#kvs.delete(kv.key);
      else this.#kvs.set(kv.key, kv);
    }
  }

  #covers(key: string): boolean {
    const { key: from, end } = this.request;
    return key >= from && (end === undefined || key < end);
  }

  state(): readonly Entry[] {
    return Array.from(this.#kvs.values(), (kv) => this.namespace.entry(kv));
  }
}
