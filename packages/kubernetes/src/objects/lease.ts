/** `Lease` objects of the group `coordination.k8s.io`. */

import type { Sight } from '@incumbent/network';

import { fields, malformed, textFields, type Fields } from './json.ts';
import { identityOf, type Identity } from './metadata.ts';

export interface LeaseObject extends Identity {
  readonly ttlMs: number;
  /** As the server has it. */
  readonly object: Fields;
}

export function readLease(object: Fields): LeaseObject {
  const seconds = fields(object['spec'])['leaseDurationSeconds'];
  if (typeof seconds !== 'number' || !(seconds >= 1)) throw malformed('a Lease without leaseDurationSeconds');
  return { ...identityOf(object), ttlMs: seconds * 1_000, object };
}

/** What a Lease says to people: who holds it, and when that process has renewed it last. */
export function holderOf(object: Fields): { readonly holder: string; readonly renewedAtMs: number | undefined } {
  const { holderIdentity = '', renewTime = '' } = textFields(fields(object['spec']));
  const renewedAtMs = Date.parse(renewTime);
  return { holder: holderIdentity, renewedAtMs: Number.isNaN(renewedAtMs) ? undefined : renewedAtMs };
}

export function sightOf({ uid, version, ttlMs }: LeaseObject): Sight {
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
