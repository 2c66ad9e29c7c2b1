/** Finds the watches that a change of a key concerns. */

import type { Key } from '@incumbent/core';

/** What a watch is on. */
interface Watch {
  readonly query: { readonly key: Key } | { readonly prefix: Key };
}

/**
 * The watches of each path. Arrays, because most paths have one watch, and a process may watch
 * thousands of paths.
 */
type WatchesByPath<W> = Map<Key, readonly W[]>;

/** The open watches of a store. */
export class WatchRegistry<W extends Watch> {
  readonly #all = new Set<W>();
  readonly #byKey: WatchesByPath<W> = new Map();
  readonly #byPrefix: WatchesByPath<W> = new Map();

  get size(): number {
    return this.#all.size;
  }

  /** Iterates over a copy, so that watches may be added and deleted meanwhile. */
  [Symbol.iterator](): Iterator<W> {
    return [...this.#all][Symbol.iterator]();
  }

  add(watch: W): void {
    this.#all.add(watch);
    const [index, path] = this.#indexOf(watch);
    index.set(path, [...(index.get(path) ?? []), watch]);
  }

  delete(watch: W): void {
    this.#all.delete(watch);
    const [index, path] = this.#indexOf(watch);
    const others = (index.get(path) ?? []).filter((other) => other !== watch);
    if (others.length === 0) index.delete(path);
    else index.set(path, others);
  }

  /** The watches of the key itself, and those of every prefix above it. */
  watchesOf(key: Key): readonly W[] {
    const watches = [...(this.#byKey.get(key) ?? [])];
    for (let at = key.indexOf('/'); at >= 0 && this.#byPrefix.size > 0; at = key.indexOf('/', at + 1))
      watches.push(...(this.#byPrefix.get(key.slice(0, at)) ?? []));
    return watches;
  }

  #indexOf({ query }: W): readonly [WatchesByPath<W>, Key] {
    return 'key' in query ? [this.#byKey, query.key] : [this.#byPrefix, query.prefix];
  }
}
