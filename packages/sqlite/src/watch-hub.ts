/** All that is watched through one store: each key and each prefix once, however many watch it. */

import type { Cancel, Key, StoreError } from '@incumbent/core';

import type { Census } from './holder-monitor.ts';
import { NEWEST, type Extent, type Pulse, type Row, type State, type Tables } from './schema/tables.ts';
import { View, type Reader } from './watch-state.ts';

interface Seen<T> {
  readonly view: View;
  /** By what the rows were recognized when they were read last; undefined: they were not yet. */
  seen: T | undefined;
}

type Watched<T> = Map<Key, Seen<T>>;

/** The revision of no key. */
const NONE = -1;

export class Views {
  /** By the key's revision; null: it is absent. */
  readonly #keys: Watched<number | null> = new Map();
  readonly #lists: Watched<Extent> = new Map();
  readonly #unread = { keys: new Set<Key>(), lists: new Set<Key>() };
  /** With readers that have yet to be shown what holds. */
  readonly #unconfirmed = new Set<View>();
  /** What was read last, and when. */
  #last: { readonly tables: Tables; readonly pulse: Pulse } | undefined;
  readonly #census: Census;
  /** What a look has found. */
  readonly #toShow: (readonly [view: View, rows: readonly Row[]])[] = [];
  /** Whether what is watched, or what it shows, is other than at the end of the last look. */
  #isChanged = false;

  constructor(census: Census) {
    this.#census = census;
  }

  get isEmpty(): boolean {
    return this.#keys.size + this.#lists.size === 0;
  }

  watchKey(key: Key, reader: Reader): Cancel {
    return this.#watch(this.#keys, this.#unread.keys, key, reader);
  }

  watchList(prefix: Key, reader: Reader): Cancel {
    return this.#watch(this.#lists, this.#unread.lists, prefix, reader);
  }

  /**
   * Reads what has changed since the last time, and shows it; true if anything has, or something else is watched. All that is watched is compared only when these are another file's
   * tables, which count anew, or nobody can tell any more what has gone, or what has ended may come back by a renewal, which changes no key. `isDue`: a lease may have ended. `check` throws when all is read where that may be wrong: nothing of it is shown
   * then, and the next look is at everything.
   */
  look(tables: Tables, pulse: Pulse, isDue: boolean, check: () => void): boolean {
    const last = this.#last?.tables === tables ? this.#last.pulse : undefined;
    if (last === undefined) this.#forget();
    // Until all is read and shown: one that fails in its midst has seen what nobody was shown.
    this.#last = undefined;
    this.#toShow.length = 0;
    const changed = changesSince(last, tables, pulse, isDue);
    if (changed !== undefined) this.#showChanged(tables, changed);
    this.#compareKeys(tables, changed === undefined ? this.#keys.keys() : this.#unread.keys);
    this.#compareLists(tables, changed === undefined ? this.#lists.keys() : this.#unread.lists);
    check();
    for (const [view, rows] of this.#toShow.splice(0)) this.#change(view, rows);
    for (const view of this.#unconfirmed) view.confirm();
    for (const done of [this.#unread.keys, this.#unread.lists, this.#unconfirmed]) done.clear();
    this.#last = { tables, pulse };
    const isChanged = this.#isChanged;
    this.#isChanged = false;
    return isChanged;
  }

  lose(cause: StoreError): void {
    for (const view of this.#all()) {
      view.lose(cause);
      this.#unconfirmed.add(view);
    }
  }

  fail(cause: StoreError): void {
    for (const view of this.#all()) view.fail(cause);
  }

  #watch<T>(watched: Watched<T>, unread: Set<Key>, path: Key, reader: Reader): Cancel {
    const there = watched.get(path) ?? this.#add(watched, path);
    if (there.seen === undefined) unread.add(path);
    there.view.add(reader);
    this.#unconfirmed.add(there.view);
    this.#isChanged = true;
    return () => {
      there.view.delete(reader);
      if (there.view.isWatched || watched.get(path) !== there) return;
      watched.delete(path);
      this.#census.letGo(there.view.rows);
      unread.delete(path);
      this.#unconfirmed.delete(there.view);
      this.#isChanged = true;
    };
  }

  #add<T>(watched: Watched<T>, path: Key): Seen<T> {
    const added = { view: new View(), seen: undefined };
    watched.set(path, added);
    this.#census.hold(added.view.rows);
    return added;
  }

  #compareKeys(tables: Tables, keys: Iterable<Key>): void {
    const known = new Map([...keys].map((key) => [key, this.#keys.get(key)?.seen ?? null]));
    if (known.size === 0) return;
    for (const { key, row } of tables.differing(known)) this.#showKey(key, row);
    // An absent key that nobody knew is as it is known.
    for (const key of known.keys()) {
      const at = this.#keys.get(key);
      if (at?.seen === undefined && at !== undefined) at.seen = null;
    }
  }

  #compareLists(tables: Tables, prefixes: Iterable<Key>): void {
    for (const prefix of prefixes) {
      const at = this.#lists.get(prefix);
      if (at === undefined || isSame(tables.extent(prefix), at.seen)) continue;
      const rows = tables.list(prefix, { values: true, before: NEWEST });
      // What was read, and not what was asked for before: another process may have written in between.
      at.seen = extentOf(rows);
      this.#show(at.view, rows);
    }
  }

  #showChanged(tables: Tables, changed: readonly State[]): void {
    const touched = new Set<Key>();
    for (const { key, row } of changed) {
      // What is about to be read is read later than this was.
      if (!this.#unread.keys.has(key)) this.#showKey(key, row);
      for (const prefix of pathsAbove(key)) if (this.#lists.has(prefix)) touched.add(prefix);
    }
    this.#compareLists(tables, touched);
  }

  #showKey(key: Key, row: Row | undefined): void {
    const at = this.#keys.get(key);
    const seen = row?.revision ?? null;
    if (at === undefined || at.seen === seen) return;
    at.seen = seen;
    this.#show(at.view, row === undefined ? [] : [row]);
  }

  #show(view: View, rows: readonly Row[]): void {
    this.#toShow.push([view, rows]);
  }

  #change(view: View, rows: readonly Row[]): void {
    this.#isChanged = true;
    this.#census.hold(rows);
    this.#census.letGo(view.rows);
    view.change(rows);
  }

  #forget(): void {
    for (const at of this.#keys.values()) if (at.seen !== undefined) at.seen = NONE;
    for (const at of this.#lists.values()) at.seen = undefined;
  }

  #all(): readonly View[] {
    return [...this.#keys.values(), ...this.#lists.values()].map(({ view }) => view);
  }
}

/** Undefined: nobody can tell. */
function changesSince(last: Pulse | undefined, tables: Tables, pulse: Pulse, isDue: boolean): readonly State[] | undefined {
  // It counts back where an older state was restored in place.
  if (last === undefined || pulse.revision < last.revision || last.unsettled || pulse.unsettled) return undefined;
  return isDue || pulse.revision > last.revision ? tables.since(last.revision, isDue) : [];
}

function extentOf(rows: readonly Row[]): Extent {
  let [newest, sum] = [0, 0];
  for (const { revision } of rows) {
    newest = Math.max(newest, revision);
    sum += revision;
  }
  return { count: rows.length, newest, sum };
}

function isSame(one: Extent, other: Extent | undefined): boolean {
  return one.count === other?.count && one.newest === other.newest && one.sum === other.sum;
}

function pathsAbove(key: Key): readonly Key[] {
  const parts = key.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}
