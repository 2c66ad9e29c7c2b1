/** All that is watched through one store: each key and each prefix once, however many watch it. */

import type { Cancel, Key, LeaseId, StoreError } from '@incumbent/core';

import { NEWEST, type Extent, type LeaseLife, type Row, type Tables } from './tables.ts';
import { View, type Reader } from './view.ts';

interface Seen<T> {
  readonly view: View;
  /** By what the rows were recognized when they were read last; undefined: they were not yet. */
  seen: T | undefined;
}

/** The revision of no key. */
const NONE = -1;

export class Views {
  /** What was read last. */
  #tables: Tables | undefined;
  /** By the key's revision; null: it is absent. */
  readonly #keys = new Map<Key, Seen<number | null>>();
  readonly #lists = new Map<Key, Seen<Extent>>();

  get isEmpty(): boolean {
    return this.#keys.size + this.#lists.size === 0;
  }

  watchKey(key: Key, reader: Reader): Cancel {
    return watch(this.#keys, key, reader);
  }

  watchList(prefix: Key, reader: Reader): Cancel {
    return watch(this.#lists, prefix, reader);
  }

  /** Whether these are the tables that were read last: those of another file count their revisions anew. */
  isOf(tables: Tables): boolean {
    return this.#tables === tables;
  }

  /** Reads what has changed since the last time, and shows it. */
  look(tables: Tables): void {
    if (!this.isOf(tables)) this.#forget();
    this.#tables = tables;
    const known = new Map([...this.#keys].map(([key, { seen }]) => [key, seen ?? null]));
    for (const { key, row } of tables.differing(known)) {
      const at = this.#keys.get(key);
      if (at === undefined) continue;
      at.seen = row?.revision ?? null;
      at.view.change(row === undefined ? [] : [row]);
    }
    for (const [prefix, at] of this.#lists) {
      if (isSame(tables.extent(prefix), at.seen)) continue;
      const rows = tables.list(prefix, { values: true, before: NEWEST, limit: -1 });
      // What was read, and not what was asked for before: another process may have written in between.
      at.seen = extentOf(rows);
      at.view.change(rows);
    }
    for (const view of this.#all()) view.confirm();
  }

  lose(cause: StoreError): void {
    for (const view of this.#all()) view.lose(cause);
  }

  fail(cause: StoreError): void {
    for (const view of this.#all()) view.fail(cause);
  }

  /** Whether anybody waits for another process: all that is watched is there, and under leases that `isOwn` knows, or nobody does. */
  waits(isOwn: (lease: LeaseId) => boolean): boolean {
    return this.#all().some(({ rows }) => rows.length === 0 || !rows.every(({ lease }) => lease !== undefined && isOwn(lease)));
  }

  /** The processes whose leases hold what is watched, once each. */
  lives(): readonly LeaseLife[] {
    const lives = this.#all().flatMap(({ rows }) => rows.flatMap(lifeOf));
    return [...new Map(lives.map((lease) => [lease.id, lease])).values()];
  }

  #forget(): void {
    for (const at of this.#keys.values()) if (at.seen !== undefined) at.seen = NONE;
    for (const at of this.#lists.values()) at.seen = undefined;
  }

  #all(): readonly View[] {
    return [...this.#keys.values(), ...this.#lists.values()].map(({ view }) => view);
  }
}

function watch<T>(watched: Map<Key, Seen<T>>, path: Key, reader: Reader): Cancel {
  const there = watched.get(path) ?? { view: new View(), seen: undefined };
  watched.set(path, there);
  there.view.add(reader);
  return () => {
    there.view.delete(reader);
    if (!there.view.isWatched && watched.get(path) === there) watched.delete(path);
  };
}

function extentOf(rows: readonly Row[]): Extent {
  return { count: rows.length, newest: rows.reduce((newest, { revision }) => Math.max(newest, revision), 0) };
}

function isSame(one: Extent, other: Extent | undefined): boolean {
  return one.count === other?.count && one.newest === other.newest;
}

function lifeOf({ lease, life }: Row): readonly LeaseLife[] {
  return lease === undefined || life === undefined ? [] : [{ id: lease, life }];
}
