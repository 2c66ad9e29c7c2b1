/** A copy of a part of the store, kept up to date by a watch. */

import type { Entry, Key } from '@incumbent/core';

import type { Namespace } from './namespace.ts';
import type { KeyRange, KeyValue, RangeRequest } from './protocol/kv.ts';
import type { WatchEvent } from './protocol/watch.ts';

export interface Mirror<T> {
  /** What to read, and to watch. */
  readonly request: RangeRequest;
  /** Takes what was read at a revision in place of what it had. */
  reset(kvs: readonly KeyValue[], revision: bigint): void;
  /**
   * Takes what changed since: every event, in order. Leaves out events of what it does not mirror,
   * and those no newer than the read, which a server that was restored or lags behind may send.
   */
  apply(events: readonly WatchEvent[]): void;
  /** As the contract shows it. */
  state(): T;
}

export class KeyMirror implements Mirror<Entry | undefined> {
  readonly request: KeyRange;
  readonly #namespace: Namespace;
  #entry: Entry | undefined;
  #revision = 0n;

  constructor(namespace: Namespace, key: Key) {
    this.#namespace = namespace;
    this.request = { key: namespace.key(key) };
  }

  reset([kv]: readonly KeyValue[], revision: bigint): void {
    this.#entry = kv && this.#namespace.entry(kv);
    this.#revision = revision;
  }

  apply(events: readonly WatchEvent[]): void {
    for (const { deleted, kv } of events) {
      if (kv.key !== this.request.key || kv.modRevision <= this.#revision) continue;
      this.#revision = kv.modRevision;
      this.#entry = deleted ? undefined : this.#namespace.entry(kv);
    }
  }

  state(): Entry | undefined {
    return this.#entry;
  }
}

export class ListMirror implements Mirror<readonly Entry[]> {
  readonly request: RangeRequest;
  readonly #namespace: Namespace;
  /** In the order of creation: it is read so, new keys are put at the end, and a changed key keeps its place. */
  readonly #kvs = new Map<string, KeyValue>();
  #revision = 0n;

  constructor(namespace: Namespace, prefix: Key) {
    this.#namespace = namespace;
    this.request = { ...namespace.under(prefix), byCreation: 'ascending' };
  }

  reset(kvs: readonly KeyValue[], revision: bigint): void {
    this.#kvs.clear();
    this.#revision = revision;
    for (const kv of kvs) this.#kvs.set(kv.key, kv);
  }

  apply(events: readonly WatchEvent[]): void {
    const before = this.#revision;
    for (const { deleted, kv } of events) {
      // One revision may change several keys, and all of its events come in one answer.
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
    return Array.from(this.#kvs.values(), (kv) => this.#namespace.entry(kv));
  }
}
