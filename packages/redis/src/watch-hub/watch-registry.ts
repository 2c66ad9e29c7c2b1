/** Which watches a change of a key concerns. */

import type { Key } from '@incumbent/core';

import type { AnyWatch } from '../watch.ts';

export class Audience {
  readonly #all = new Set<AnyWatch>();
  readonly #ofKey = new Map<Key, Set<AnyWatch>>();
  readonly #ofPrefix = new Map<Key, Set<AnyWatch>>();

  get size(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): Iterator<AnyWatch> {
    return [...this.#all][Symbol.iterator]();
  }

  add(watch: AnyWatch): void {
    this.#all.add(watch);
    const [watches, path] = this.#shelfOf(watch);
    const shelf = watches.get(path) ?? new Set();
    watches.set(path, shelf.add(watch));
  }

  delete(watch: AnyWatch): void {
    this.#all.delete(watch);
    const [watches, path] = this.#shelfOf(watch);
    const shelf = watches.get(path);
    shelf?.delete(watch);
    if (shelf?.size === 0) watches.delete(path);
  }

  /** Those of the key, and of every path above it. */
  of(key: Key): readonly AnyWatch[] {
    const watches = [...(this.#ofKey.get(key) ?? [])];
    for (let at = key.indexOf('/'); at >= 0 && this.#ofPrefix.size > 0; at = key.indexOf('/', at + 1))
      watches.push(...(this.#ofPrefix.get(key.slice(0, at)) ?? []));
    return watches;
  }

  #shelfOf({ what }: AnyWatch): readonly [Map<Key, Set<AnyWatch>>, Key] {
    return 'key' in what ? [this.#ofKey, what.key] : [this.#ofPrefix, what.prefix];
  }
}
