/** Finds the watches that a change of a key concerns. */

import type { Key } from '@incumbent/core';

import type { RegisteredWatch } from '../watch.ts';

export class WatchRegistry {
  readonly #all = new Set<RegisteredWatch>();
  readonly #byKey = new Map<Key, Set<RegisteredWatch>>();
  readonly #byPrefix = new Map<Key, Set<RegisteredWatch>>();

  get size(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): Iterator<RegisteredWatch> {
    return [...this.#all][Symbol.iterator]();
  }

  add(watch: RegisteredWatch): void {
    this.#all.add(watch);
    const [index, path] = this.#indexOf(watch);
    const watches = index.get(path) ?? new Set();
    index.set(path, watches.add(watch));
  }

  delete(watch: RegisteredWatch): void {
    this.#all.delete(watch);
    const [index, path] = this.#indexOf(watch);
    const watches = index.get(path);
    watches?.delete(watch);
    if (watches?.size === 0) index.delete(path);
  }

  /** The watches of the key itself, and those of every prefix above it. */
  watchesOf(key: Key): readonly RegisteredWatch[] {
    const watches = [...(this.#byKey.get(key) ?? [])];
    for (let at = key.indexOf('/'); at >= 0 && this.#byPrefix.size > 0; at = key.indexOf('/', at + 1))
      watches.push(...(this.#byPrefix.get(key.slice(0, at)) ?? []));
    return watches;
  }

  #indexOf({ query }: RegisteredWatch): readonly [Map<Key, Set<RegisteredWatch>>, Key] {
    return 'key' in query ? [this.#byKey, query.key] : [this.#byPrefix, query.prefix];
  }
}
