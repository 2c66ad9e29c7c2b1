/** The server's side of all watches: which watch is notified of which keys. */

import type { Key } from '@incumbent/core';
import { pathsAbove } from './key-table.ts';

/** A watch, at the server. */
export interface Watcher {
  /** The key, or the prefix of the keys. */
  readonly path: Key;
  /** Called after every change of the key, or of a key below the prefix. */
  changed(): void;
}

/** The watches of keys, or those of prefixes. */
export class Watchers {
  /** Arrays, as most paths have one watcher, and a Set takes four times the memory. */
  readonly #byPath = new Map<Key, Watcher[]>();
  #added = 0;
  #removed = 0;

  /** How many watches were ever added. */
  get added(): number {
    return this.#added;
  }

  /** How many watches there are now. */
  get size(): number {
    return this.#added - this.#removed;
  }

  /** The watches of a path, in the order in which they were added. */
  of(path: Key): readonly Watcher[] {
    return this.#byPath.get(path) ?? [];
  }

  add(watcher: Watcher): void {
    const others = this.#byPath.get(watcher.path);
    if (others === undefined) this.#byPath.set(watcher.path, [watcher]);
    else others.push(watcher);
    this.#added += 1;
  }

  /** Has no effect on a watcher that was not added. */
  remove(watcher: Watcher): void {
    const all = this.#byPath.get(watcher.path) ?? [];
    const at = all.indexOf(watcher);
    if (at === -1) return;
    all.splice(at, 1);
    if (all.length === 0) this.#byPath.delete(watcher.path);
    this.#removed += 1;
  }
}

export class WatchHub {
  readonly keys: Watchers = new Watchers();
  readonly prefixes: Watchers = new Watchers();

  /** How many watches were ever added. */
  get opened(): number {
    return this.keys.added + this.prefixes.added;
  }

  /** How many watches there are now. */
  get open(): number {
    return this.keys.size + this.prefixes.size;
  }

  /** Notifies each watch of these keys once, even if several of the keys concern it. */
  notify(keys: Iterable<Key>): void {
    const concerned = new Set<Watcher>();
    for (const key of keys) {
      for (const watcher of this.keys.of(key)) concerned.add(watcher);
      for (const prefix of pathsAbove(key)) for (const watcher of this.prefixes.of(prefix)) concerned.add(watcher);
    }
    for (const watcher of concerned) watcher.changed();
  }
}
