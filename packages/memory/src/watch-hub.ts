/** Who is to be told of which keys. */

import type { Cancel, Key } from '@incumbent/core';
import { pathsAbove } from './key-table.ts';

/** What a watch is about: one key, or all below a prefix. */
export type Target = { readonly key: Key } | { readonly prefix: Key };

type Listeners = Map<Key, Set<() => void>>;

export class Subscriptions {
  readonly #byKey: Listeners = new Map();
  readonly #byPrefix: Listeners = new Map();
  #opened = 0;
  #open = 0;

  /** How many there ever were. */
  get opened(): number {
    return this.#opened;
  }

  /** How many there are. */
  get open(): number {
    return this.#open;
  }

  add(target: Target, listener: () => void): Cancel {
    const [listeners, path] = 'key' in target ? [this.#byKey, target.key] : [this.#byPrefix, target.prefix];
    const own = (): void => listener();
    const there = listeners.get(path);
    if (there === undefined) listeners.set(path, new Set([own]));
    else there.add(own);
    this.#opened += 1;
    this.#open += 1;
    return () => this.#remove(listeners, path, own);
  }

  #remove(listeners: Listeners, path: Key, own: () => void): void {
    const there = listeners.get(path);
    if (there?.delete(own)) this.#open -= 1;
    if (there?.size === 0) listeners.delete(path);
  }

  /** Calls whoever is concerned, once each, however many of the keys concern it. */
  tell(keys: Iterable<Key>): void {
    const concerned = new Set<() => void>();
    for (const key of keys) {
      for (const listener of this.#byKey.get(key) ?? []) concerned.add(listener);
      for (const prefix of pathsAbove(key)) for (const listener of this.#byPrefix.get(prefix) ?? []) concerned.add(listener);
    }
    for (const listener of concerned) listener();
  }
}
