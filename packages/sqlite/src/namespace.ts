/** Translates keys, entries and revisions between the contract and the file. */

import type { Change, Entry, Key, Revision } from '@incumbent/core';
import { nameOfKey } from '@incumbent/core/adapter';

import type { Row } from './schema/tables.ts';

/** The keys of one namespace, which the file stores as `<namespace>/<key>`. */
export class Namespace {
  readonly #prefix: string;

  constructor(name: string) {
    this.#prefix = `${name}/`;
  }

  /** The key as the file stores it. */
  key(key: Key): string {
    return this.#prefix + key;
  }

  /** The change with the key as the file stores it, and a copy of the caller's bytes. */
  change(change: Change): Change {
    const key = this.key(change.key);
    return 'put' in change ? { ...change, key, put: new Uint8Array(change.put) } : { ...change, key };
  }

  entry(row: Row): Entry {
    const key = row.key.slice(this.#prefix.length);
    return {
      key,
      name: nameOfKey(key),
      // A copy, because callers may keep or change it.
      value: new Uint8Array(row.value),
      revision: revisionOf(row.revision),
      order: BigInt(row.created),
      ...(row.lease === undefined ? {} : { lease: row.lease }),
    };
  }
}

export function revisionOf(revision: number): Revision {
  return String(revision);
}
