/** The contract's words in Consul's: paths within a namespace, revisions, leases, entries. */

import type { Entry, Key, LeaseId, Revision } from '@incumbent/core';

import type { Pair, Target } from './protocol/kv.ts';

export class Namespace {
  readonly #root: string;

  constructor(name: string) {
    this.#root = `${escape(name)}/`;
  }

  path(key: Key): string {
    return this.#root + escape(key);
  }

  key(key: Key): Target {
    return { path: this.path(key), recurse: false };
  }

  /** All keys under `prefix/`. */
  under(prefix: Key): Target {
    return { path: `${this.path(prefix)}/`, recurse: true };
  }

  /** All keys. */
  get all(): Target {
    return { path: this.#root, recurse: true };
  }

  /** What can be watched in a target's place: all that has the first name of its key, and all. */
  around({ path }: Target): readonly Target[] {
    const slash = path.indexOf('/', this.#root.length);
    return slash === -1 ? [this.all] : [{ path: path.slice(0, slash + 1), recurse: true }, this.all];
  }

  entry(pair: Pair): Entry {
    const key = unescape(pair.path.slice(this.#root.length));
    return {
      key,
      name: key.slice(key.lastIndexOf('/') + 1),
      value: pair.value,
      revision: revisionOf(pair),
      order: BigInt(pair.created),
      ...(pair.session === '' ? {} : { lease: pair.session }),
    };
  }

  /** In the order of creation. What ends in a slash is a folder, as Consul's own pages make them, and no key. */
  entries(pairs: readonly Pair[]): readonly Entry[] {
    const keys = pairs.filter(({ path }) => !path.endsWith('/'));
    return keys.toSorted((a, b) => a.created - b.created).map((pair) => this.entry(pair));
  }
}

/** The index of the last change, and the session that holds the key if one does: whoever changes the holder must name the one before. */
export function revisionOf({ modified, session }: Pick<Pair, 'modified' | 'session'>): Revision {
  return session === '' ? String(modified) : `${modified}@${session}`;
}

export interface KnownRevision {
  readonly index: number;
  readonly lease: LeaseId | undefined;
}

/** An index that no key ever has: raft's own first entry. */
const NO_INDEX = 1;

export function readRevision(revision: Revision): KnownRevision {
  const [, index, lease] = /^([1-9]\d{0,15})(?:@([0-9a-f-]{36}))?$/.exec(revision) ?? [];
  return { index: index === undefined ? NO_INDEX : Number(index), lease };
}

/** Paths of URLs have no names `.` and `..`. */
function escape(path: string): string {
  return path.replaceAll(/(?<=^|\/)\.{1,2}(?=\/|$)/g, (name) => name.replaceAll('.', '%2e'));
}

function unescape(path: string): string {
  return path.replaceAll('%2e', '.');
}
