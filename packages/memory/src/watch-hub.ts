/** The server's side of all watches: which watch is notified of which keys. */

import type { Cancel, Key } from '@incumbent/core';
import { pathsAbove } from './key-table.ts';

/** What a watch is about: one key, or the keys below a prefix. */
export type WatchTarget = { readonly key: Key } | { readonly prefix: Key };

type Listeners = Map<Key, Set<() => void>>;

export class WatchHub {
  readonly #byKey: Listeners = new Map();
  readonly #byPrefix: Listeners = new Map();
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

  /** Calls `changed` after every change of the target, until cancelled. */
  add(target: WatchTarget, changed: () => void): Cancel {
    const [listeners, path] = 'key' in target ? [this.#byKey, target.key] : [this.#byPrefix, target.prefix];
    // A new function, so that a listener that is added twice is called twice.
    const listener = (): void => changed();
    const existing = listeners.get(path);
    if (existing === undefined) listeners.set(path, new Set([listener]));
    else existing.add(listener);
    this.#opened += 1;
    this.#open += 1;
    return () => this.#remove(listeners, path, listener);
  }

  #remove(listeners: Listeners, path: Key, listener: () => void): void {
    const existing = listeners.get(path);
    if (existing?.delete(listener)) this.#open -= 1;
    if (existing?.size === 0) listeners.delete(path);
  }

  /** Calls each watch of these keys once, even if several of the keys concern it. */
  notify(keys: Iterable<Key>): void {
    const concerned = new Set<() => void>();
    for (const key of keys) {
      for (const listener of this.#byKey.get(key) ?? []) concerned.add(listener);
      for (const prefix of pathsAbove(key)) for (const listener of this.#byPrefix.get(prefix) ?? []) concerned.add(listener);
    }
    for (const listener of concerned) listener();
  }
}
