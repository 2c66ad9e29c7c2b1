/**
 * Translates keys, revisions and entries of the store contract to Consul's paths, indexes and
 * pairs.
 */

import type { Entry, Key, LeaseId, Revision } from '@incumbent/core';
import { nameOfKey } from '@incumbent/core/adapter';

import type { Pair, Target } from './protocol/kv.ts';

export class Namespace {
  /** The beginning of every path. */
  readonly root: string;

  constructor(name: string) {
    this.root = `${escape(name)}/`;
  }

  path(key: Key): string {
    return this.root + escape(key);
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
    return { path: this.root, recurse: true };
  }

  /**
   * The wider targets that include this target: all keys that begin with the same name, and all
   * keys.
   */
  around({ path }: Target): readonly Target[] {
    const slash = path.indexOf('/', this.root.length);
    return slash === -1 ? [this.all] : [{ path: path.slice(0, slash + 1), recurse: true }, this.all];
  }

  entry(pair: Pair): Entry {
    const key = unescape(pair.path.slice(this.root.length));
    return {
      key,
      name: nameOfKey(key),
      value: pair.value,
      revision: revisionOf(pair),
      order: BigInt(pair.created),
      ...(pair.session === '' ? {} : { lease: pair.session }),
    };
  }

  /**
   * In the order of creation. Skips paths that end in a slash: these are folders, which Consul's
   * web pages create.
   */
  entries(pairs: readonly Pair[]): readonly Entry[] {
    const keys = pairs.filter(({ path }) => !path.endsWith('/'));
    return keys.toSorted((a, b) => a.created - b.created).map((pair) => this.entry(pair));
  }
}

/**
 * The index of the last change, and the session that has locked the key, if any. To take a key from
 * a session, an operation must name that session.
 */
export function revisionOf({ modified, session }: Pick<Pair, 'modified' | 'session'>): Revision {
  return session === '' ? String(modified) : `${modified}@${session}`;
}

/** Consul gives all keys of a transaction one index. */
export function revisionInSwap(other: Revision, lease: LeaseId | undefined): Revision {
  return revisionOf({ modified: readRevision(other).index, session: lease ?? '' });
}

export interface KnownRevision {
  readonly index: number;
  readonly lease: LeaseId | undefined;
}

/** An index that no key has: that of the first entry of Raft's log. */
const NO_INDEX = 1;

export function readRevision(revision: Revision): KnownRevision {
  const [, index, lease] = /^([1-9]\d{0,15})(?:@([0-9a-f-]{36}))?$/.exec(revision) ?? [];
  return { index: index === undefined ? NO_INDEX : Number(index), lease };
}

/**
 * Replaces what agents refuse or change in the path of a key. Consul 1.21.5 accepts only the
 * characters `A-Z a-z 0-9 , _ . / - ? & =`, so a comma stands for each `~`. Some versions refuse
 * two dots in a row, and a URL does not preserve the name `.`, so an equals sign stands for this
 * name and for a dot after a dot. Keys of the store contract have neither commas nor equals signs.
 */
function escape(path: string): string {
  return path.replaceAll('~', ',').replaceAll(/(?<=\.)\.|(?<=^|\/)\.(?=\/|$)/g, '=');
}

function unescape(path: string): string {
  return path.replaceAll(',', '~').replaceAll('=', '.');
}
