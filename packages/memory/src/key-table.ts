/** The keys as a server holds them, found by key and by every path above it. */

import type { Key, LeaseId } from '@incumbent/core';

/** One key. Never changed: replaced. */
export interface Row {
  readonly key: Key;
  readonly value: Uint8Array;
  readonly revision: bigint;
  readonly order: bigint;
  readonly lease: LeaseId | undefined;
}

export class Rows {
  readonly #rows = new Map<Key, Row>();
  /** By path: the rows below it, in the order of their creation, because a Map keeps the place of a key that is set again. */
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

/** `a/b/c` lies below `a` and `a/b`. */
export function pathsAbove(key: Key): readonly Key[] {
  const paths: Key[] = [];
  for (let at = key.indexOf('/'); at !== -1; at = key.indexOf('/', at + 1)) paths.push(key.slice(0, at));
  return paths;
}
