/** `Lease` objects of the group `coordination.k8s.io`. */

import type { LeaseId } from '@incumbent/core';
import type { LeaseView } from '@incumbent/network';

import { MAX_TTL_MS } from '../limits.ts';
import { leaseIdOf } from '../names.ts';
import { optionalFields, textFields, type Fields } from './json.ts';
import { identityOf, metadataForChange, nameOf, type Identity } from './metadata.ts';

export interface LeaseObject extends Identity {
  readonly id: LeaseId;
  /** The longest that a lease may have, if the object does not tell. */
  readonly ttlMs: number;
  /** As the server has it. */
  readonly object: Fields;
}

/**
 * Somebody may have edited the object by hand and removed its duration. Nobody may end the lease
 * before the ttl that its holder was granted, so its ttl is then the longest one. The next renewal
 * writes the duration again.
 */
export function readLease(object: Fields): LeaseObject {
  const { leaseDurationSeconds: seconds } = optionalFields(object['spec']);
  const ttlMs = typeof seconds === 'number' && seconds >= 1 ? seconds * 1_000 : MAX_TTL_MS;
  const identity = identityOf(object);
  return { ...identity, id: leaseIdOf({ name: nameOf(object), uid: identity.uid }), ttlMs, object };
}

/** What a Lease says to people: who holds it, and when that process has renewed it last. */
export function holderOf(object: Fields): { readonly holder: string; readonly renewedAtMs: number | undefined } {
  const { holderIdentity = '', renewTime = '' } = textFields(optionalFields(object['spec']));
  const renewedAtMs = Date.parse(renewTime);
  return { holder: holderIdentity, renewedAtMs: Number.isNaN(renewedAtMs) ? undefined : renewedAtMs };
}

export function viewOf({ uid, version, ttlMs }: LeaseObject): LeaseView {
  return { version: `${uid} ${version}`, ttlMs };
}

/**
 * A time as Kubernetes' `MicroTime`, which needs exactly six digits after the point. The last three
 * are the number of the renewal, so that two renewals within one ms differ: an update that changes
 * nothing leaves the resourceVersion as it is, and would not count as a renewal.
 */
export function microTime(wallMs: number, renewal: number): string {
  const digits = String(renewal % 1_000).padStart(3, '0');
  return new Date(Math.floor(wallMs)).toISOString().replace('Z', `${digits}Z`);
}

/** The object after a renewal. The uid and the version in its metadata are both preconditions. */
export function renewed({ object }: LeaseObject, ttlMs: number, renewTime: string): Fields {
  // The holder counts on the ttl that it was granted, so observers must count the same.
  const spec = { ...optionalFields(object['spec']), leaseDurationSeconds: ttlMs / 1_000, renewTime };
  return { ...object, metadata: metadataForChange(object), spec };
}
