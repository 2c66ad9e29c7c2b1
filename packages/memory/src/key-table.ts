/** The keys of a server, found by key and by prefix. */

import type { Key, LeaseId } from '@incumbent/core';

/** One key. A change replaces the row. */
export interface Row {
  readonly key: Key;
  readonly value: Uint8Array;
  readonly revision: number;
  readonly order: number;
  readonly lease: LeaseId | undefined;
}

export class KeyTable {
  readonly #rows = new Map<Key, Row>();
  /** By prefix, in the order of creation: a Map keeps the place of a key that is set again. */
  readonly #below = new Map<Key, Map<Key, Row>>();

  get(key: Key): Row | undefined {
    return this.#rows.get(key);
  }

  /** Every row, in the order of creation. */
  all(): readonly Row[] {
    return [...this.#rows.values()];
  }

  /** The rows whose keys begin with `prefix/`, in the order of creation. */
  below(prefix: Key): readonly Row[] {
    return [...(this.#below.get(prefix)?.values() ?? [])];
  }

  set(row: Row): void {
    this.#rows.set(row.key, row);
    for (const prefix of pathsAbove(row.key)) {
      const rows = this.#below.get(prefix);
      if (rows === undefined) this.#below.set(prefix, new Map([[row.key, row]]));
      else rows.set(row.key, row);
    }
  }

  delete(key: Key): void {
    this.#rows.delete(key);
    for (const prefix of pathsAbove(key)) {
      const rows = this.#below.get(prefix);
      rows?.delete(key);
      if (rows?.size === 0) this.#below.delete(prefix);
    }
  }
}

/** The prefixes that a key is below: `a` and `a/b` for `a/b/c`. */
export function pathsAbove(key: Key): readonly Key[] {
  const paths: Key[] = [];
  for (let at = key.indexOf('/'); at !== -1; at = key.indexOf('/', at + 1)) paths.push(key.slice(0, at));
  return paths;
}
