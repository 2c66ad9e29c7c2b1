/** All that is watched through one store. Each key and prefix is read once, for all its watches. */

import type { Cancel, Key, StoreError } from '@incumbent/core';

import { storeClosed } from './errors.ts';
import type { HolderMonitor } from './holder-monitor.ts';
import { fingerprintOf, NEWEST, type FileStatus, type Fingerprint, type KeyRow, type Row, type Tables } from './schema/tables.ts';
import { WatchState, type Watch } from './watch-state.ts';

interface Watched<T> {
  readonly state: WatchState;
  /** What identifies the rows that were read last. Undefined: not read yet. */
  known: T | undefined;
}

type WatchedPaths<T> = Map<Key, Watched<T>>;

/** No key has this revision. */
const UNKNOWN = -1;

export class WatchHub {
  /** The watched keys, each with the revision that was read last. Null: the key is absent. */
  readonly #keys: WatchedPaths<number | null> = new Map();
  readonly #lists: WatchedPaths<Fingerprint> = new Map();
  readonly #unread = { keys: new Set<Key>(), lists: new Set<Key>() };
  /** The states whose watches wait for the next read. */
  readonly #unconfirmed = new Set<WatchState>();
  /** The status of the file at the last update, and the tables that were read. */
  #last: { readonly tables: Tables; readonly status: FileStatus } | undefined;
  readonly #monitor: HolderMonitor;
  /** What the current update has read and not shown yet. */
  readonly #toShow: (readonly [state: WatchState, rows: readonly Row[]])[] = [];
  /** Whether the watched paths or their rows have changed since the last update. */
  #isChanged = false;
  #isClosed = false;

  constructor(monitor: HolderMonitor) {
    this.#monitor = monitor;
  }

  get isEmpty(): boolean {
    return this.#keys.size + this.#lists.size === 0;
  }

  /** Watches one key until cancelled. Throws `STORE_CLOSED` after `close`. */
  watchKey(key: Key, watch: Watch): Cancel {
    return this.#watch(this.#keys, this.#unread.keys, key, watch);
  }

  /** Watches the keys below a prefix until cancelled. Throws `STORE_CLOSED` after `close`. */
  watchList(prefix: Key, watch: Watch): Cancel {
    return this.#watch(this.#lists, this.#unread.lists, prefix, watch);
  }

  /**
   * Reads what has changed since the last update, and shows it. Returns whether the watched paths
   * or their rows have changed.
   *
   * Compares everything, instead of reading the changes, in three cases: the tables are those of
   * another file, the file no longer remembers all deletions, or a lease that has ended may come
   * back by a renewal, which changes no key.
   *
   * @param isDue whether a lease may have ended
   * @param check throws if the rows that were read may be wrong. Then nothing is shown, and the
   * next update compares everything.
   */
  update(tables: Tables, status: FileStatus, isDue: boolean, check: () => void): boolean {
    const last = this.#last?.tables === tables ? this.#last.status : undefined;
    if (last === undefined) this.#forget();
    // An update that throws has changed what is known without showing it. The next one starts anew.
    this.#last = undefined;
    this.#toShow.length = 0;
    const changed = changesSince(last, tables, status, isDue);
    if (changed !== undefined) this.#readChanged(tables, changed);
    this.#compareKeys(tables, changed === undefined ? this.#keys.keys() : this.#unread.keys);
    this.#compareLists(tables, changed === undefined ? this.#lists.keys() : this.#unread.lists);
    check();
    for (const [state, rows] of this.#toShow.splice(0)) this.#change(state, rows);
    for (const state of this.#unconfirmed) state.confirm();
    for (const done of [this.#unread.keys, this.#unread.lists, this.#unconfirmed]) done.clear();
    this.#last = { tables, status };
    const isChanged = this.#isChanged;
    this.#isChanged = false;
    return isChanged;
  }

  /** The states may be out of date. */
  lose(cause: StoreError): void {
    for (const state of this.#states()) {
      state.lose(cause);
      this.#unconfirmed.add(state);
    }
  }

  /** Ends all watches. New ones can be added. */
  fail(cause: StoreError): void {
    for (const state of this.#states()) state.fail(cause);
  }

  /** Ends all watches, and refuses new ones. */
  close(): void {
    this.#isClosed = true;
    this.fail(storeClosed());
  }

  #watch<T>(paths: WatchedPaths<T>, unread: Set<Key>, path: Key, watch: Watch): Cancel {
    if (this.#isClosed) throw storeClosed();
    const watched = paths.get(path) ?? this.#add(paths, path);
    const { state } = watched;
    if (watched.known === undefined) unread.add(path);
    state.add(watch);
    this.#unconfirmed.add(state);
    this.#isChanged = true;
    return () => {
      state.delete(watch);
      if (state.isWatched || paths.get(path) !== watched) return;
      paths.delete(path);
      this.#monitor.remove(state.rows);
      unread.delete(path);
      this.#unconfirmed.delete(state);
      this.#isChanged = true;
    };
  }

  #add<T>(paths: WatchedPaths<T>, path: Key): Watched<T> {
    const added = { state: new WatchState(), known: undefined };
    paths.set(path, added);
    this.#monitor.add(added.state.rows);
    return added;
  }

  #compareKeys(tables: Tables, keys: Iterable<Key>): void {
    const known = new Map([...keys].map((key) => [key, this.#keys.get(key)?.known ?? null]));
    if (known.size === 0) return;
    for (const { key, row } of tables.differing(known)) this.#readKey(key, row);
    // A new key that is absent does not differ from null.
    for (const key of known.keys()) {
      const watched = this.#keys.get(key);
      if (watched?.known === undefined && watched !== undefined) watched.known = null;
    }
  }

  #compareLists(tables: Tables, prefixes: Iterable<Key>): void {
    for (const prefix of prefixes) {
      const watched = this.#lists.get(prefix);
      if (watched === undefined || isSame(tables.fingerprint(prefix), watched.known)) continue;
      const rows = tables.list(prefix, { values: true, before: NEWEST });
      // The fingerprint of these rows. Another process may have written since the one above was
      // read.
      watched.known = fingerprintOf(rows);
      this.#toShow.push([watched.state, rows]);
    }
  }

  #readChanged(tables: Tables, changed: readonly KeyRow[]): void {
    const touched = new Set<Key>();
    for (const { key, row } of changed) {
      // A key that was never read is compared below, which reads a later state.
      if (!this.#unread.keys.has(key)) this.#readKey(key, row);
      for (const prefix of pathsAbove(key)) if (this.#lists.has(prefix)) touched.add(prefix);
    }
    this.#compareLists(tables, touched);
  }

  #readKey(key: Key, row: Row | undefined): void {
    const watched = this.#keys.get(key);
    const revision = row?.revision ?? null;
    if (watched === undefined || watched.known === revision) return;
    watched.known = revision;
    this.#toShow.push([watched.state, row === undefined ? [] : [row]]);
  }

  #change(state: WatchState, rows: readonly Row[]): void {
    this.#isChanged = true;
    this.#monitor.add(rows);
    this.#monitor.remove(state.rows);
    state.change(rows);
  }

  #forget(): void {
    for (const watched of this.#keys.values()) if (watched.known !== undefined) watched.known = UNKNOWN;
    for (const watched of this.#lists.values()) watched.known = undefined;
  }

  #states(): readonly WatchState[] {
    return [...this.#keys.values(), ...this.#lists.values()].map(({ state }) => state);
  }
}

/** Undefined: the changes are unknown, so everything must be compared. */
function changesSince(last: FileStatus | undefined, tables: Tables, status: FileStatus, isDue: boolean): readonly KeyRow[] | undefined {
  // The revision is lower if somebody restored an older state of the file in place.
  if (last === undefined || status.revision < last.revision || last.isUnsettled || status.isUnsettled) return undefined;
  return isDue || status.revision > last.revision ? tables.since(last.revision, isDue) : [];
}

function isSame(one: Fingerprint, other: Fingerprint | undefined): boolean {
  return one.count === other?.count && one.newest === other.newest && one.sum === other.sum;
}

function pathsAbove(key: Key): readonly Key[] {
  const parts = key.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}
