/** The contract's words in etcd's: keys within a namespace, revisions, leases, entries. */

import type { Entry, Key, LeaseId, Revision } from '@incumbent/core';

import type { KeyRange, KeyValue } from './protocol/kv.ts';

/** Keys of one namespace: `<namespace>/<key>`. */
export class Namespace {
  readonly #prefix: string;

  constructor(name: string) {
    this.#prefix = `${name}/`;
  }

  key(key: Key): string {
    return this.#prefix + key;
  }

  /** All keys under `prefix/`: up to, and without, the first that a `/` in that place would come before. */
  under(prefix: Key): KeyRange {
    return { key: `${this.#prefix}${prefix}/`, end: `${this.#prefix}${prefix}0` };
  }

  entry(kv: KeyValue): Entry {
    const key = kv.key.slice(this.#prefix.length);
    return {
      key,
      name: key.slice(key.lastIndexOf('/') + 1),
      value: kv.value,
      revision: revisionOf(kv.modRevision),
      order: kv.createRevision,
      ...(kv.lease === 0n ? {} : { lease: leaseIdOf(kv.lease) }),
    };
  }
}

export function revisionOf(modRevision: bigint): Revision {
  return modRevision.toString();
}

/** -1, which no key has, for what is no revision of etcd's. */
export function modRevisionOf(revision: Revision): bigint {
  return /^[1-9][0-9]{0,18}$/.test(revision) ? BigInt(revision) : -1n;
}

/** In hexadecimal, as etcd's own tools show it. */
export function leaseIdOf(id: bigint): LeaseId {
  return BigInt.asUintN(64, id).toString(16);
}

/** Undefined for what is no lease of etcd's, which therefore does not exist. */
export function leaseNumberOf(lease: LeaseId): bigint | undefined {
  if (!/^[0-9a-f]{1,16}$/.test(lease)) return undefined;
  const id = BigInt.asIntN(64, BigInt(`0x${lease}`));
  return id === 0n ? undefined : id;
}
