/** The server's side of all watches: which watch is notified of which keys. */

import type { Key } from '@incumbent/core';
import { pathsAbove } from './key-table.ts';

/** What a watch is about: one key, or the keys below a prefix. */
export type WatchTarget = { readonly key: Key } | { readonly prefix: Key };

/** A watch, at the server. */
export interface Watcher {
  readonly target: WatchTarget;
  /** Called after every change of the target. */
  changed(): void;
}

/** An array, as most keys have one watcher, and a Set takes four times the memory. */
type Watchers = Map<Key, Watcher[]>;

export class WatchHub {
  readonly #byKey: Watchers = new Map();
  readonly #byPrefix: Watchers = new Map();
  #opened = 0;
  #open = 0;

  /** How many watches were ever added. */
  get opened(): number {
    return this.#opened;
  }

  /** How many watches there are now. */
  get open(): number {
    return this.#open;
  }

  /** Notifies the watcher of every change, until it is removed. */
  add(watcher: Watcher): void {
    const [watchers, path] = this.#placeOf(watcher);
    const others = watchers.get(path);
    if (others === undefined) watchers.set(path, [watcher]);
    else others.push(watcher);
    this.#opened += 1;
    this.#open += 1;
  }

  /** Has no effect on a watcher that was not added. */
  remove(watcher: Watcher): void {
    const [watchers, path] = this.#placeOf(watcher);
    const all = watchers.get(path) ?? [];
    const at = all.indexOf(watcher);
    if (at === -1) return;
    this.#open -= 1;
    all.splice(at, 1);
    if (all.length === 0) watchers.delete(path);
  }

  #placeOf({ target }: Watcher): readonly [Watchers, Key] {
    return 'key' in target ? [this.#byKey, target.key] : [this.#byPrefix, target.prefix];
  }

  /** Notifies each watch of these keys once, even if several of the keys concern it. */
  notify(keys: Iterable<Key>): void {
    const concerned = new Set<Watcher>();
    for (const key of keys) {
      for (const watcher of this.#byKey.get(key) ?? []) concerned.add(watcher);
      for (const prefix of pathsAbove(key)) for (const watcher of this.#byPrefix.get(prefix) ?? []) concerned.add(watcher);
    }
    for (const watcher of concerned) watcher.changed();
  }
}
