/** Keys, entries, revisions and leases as etcd has them. */

import type { Entry, Key, LeaseId, Revision } from '@incumbent/core';
import { nameOfKey } from '@incumbent/core/adapter';
import { leaseGone } from '@incumbent/network';

import type { KeyRange, KeyValue } from './protocol/kv.ts';

/** Keys of one namespace: `<namespace>/<key>`. */
export class Namespace {
  /** The beginning of every key. */
  readonly prefix: string;

  constructor(name: string) {
    this.prefix = `${name}/`;
  }

  key(key: Key): string {
    return this.prefix + key;
  }

  /** All keys under `prefix/`. The end is exclusive: `0` is the character after `/`. */
  under(prefix: Key): KeyRange {
    return { key: `${this.prefix}${prefix}/`, end: `${this.prefix}${prefix}0` };
  }

  entry(kv: KeyValue): Entry {
    const key = kv.key.slice(this.prefix.length);
    return {
      key,
      name: nameOfKey(key),
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

/** -1, which no key has, for text that is not a revision of etcd. */
export function modRevisionOf(revision: Revision): bigint {
  return /^[1-9][0-9]{0,18}$/.test(revision) ? BigInt(revision) : -1n;
}

/** In hexadecimal, as etcd's own tools show it. */
export function leaseIdOf(id: bigint): LeaseId {
  return BigInt.asUintN(64, id).toString(16);
}

/** Undefined for text that is not the id of an etcd lease: there is no such lease. */
export function leaseNumberOf(lease: LeaseId): bigint | undefined {
  if (!/^[0-9a-f]{1,16}$/.test(lease)) return undefined;
  const id = BigInt.asIntN(64, BigInt(`0x${lease}`));
  return id === 0n ? undefined : id;
}

/** The number of a lease to bind a key to. Throws `LEASE_EXPIRED` if no lease can have this id. */
export function boundLease(lease: LeaseId): bigint {
  const id = leaseNumberOf(lease);
  if (id === undefined) throw leaseGone('etcd', lease);
  return id;
}
