/** The contract's words in the file's: keys within a namespace, revisions, entries. */

import type { Entry, Key, Revision } from '@incumbent/core';

import type { Row } from './schema/tables.ts';

/** Keys of one namespace: `<namespace>/<key>`. */
export class Namespace {
  readonly #prefix: string;

  constructor(name: string) {
    this.#prefix = `${name}/`;
  }

  key(key: Key): string {
    return this.#prefix + key;
  }

  entry(row: Row): Entry {
    const key = row.key.slice(this.#prefix.length);
    return {
      key,
      name: key.slice(key.lastIndexOf('/') + 1),
      // A view on memory of its own, as callers may keep it.
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
