/** Leases: whole seconds, renewed one request at a time. */

import type { CallOptions, Lease, LeaseId, LeaseOptions, Renewal } from '@incumbent/core';
import { isIncumbentError, StoreError } from '@incumbent/core/adapter';

import type { Client } from './client/client.ts';
import { leaseIdOf, leaseNumberOf } from './namespace.ts';
import { leaseGrant, leaseKeepAlive, leaseRevoke } from './protocol/lease.ts';

/** The shortest that can be asked for. The server grants more: one and a half times its election timeout, which is 1 s by default. */
export const MIN_TTL_MS = 1_000;

/** etcd's own limit, of 9,000,000,000 s. */
export const MAX_TTL_MS = 9_000_000_000_000;

/** Expired leases are looked for every 500 ms, and go when the cluster has agreed. */
const EXPIRY_SLACK_MS = 1_500;

/** What servers grant at the least, unless they were set up otherwise. */
const SHORTEST_GRANT_MS = 2_000;

export function expiresWithinMs(ttlMs: number): number {
  return Math.max(Math.ceil(ttlMs / 1_000) * 1_000, SHORTEST_GRANT_MS) + EXPIRY_SLACK_MS;
}

export async function grantLease(client: Client, ttlMs: number, options: LeaseOptions): Promise<Lease> {
  const granted = await client.call(leaseGrant, BigInt(Math.ceil(ttlMs / 1_000)), options);
  return { id: leaseIdOf(granted.id), ttlMs: Number(granted.ttlSeconds) * 1_000, validFrom: options.at };
}

export async function renewLease(client: Client, lease: LeaseId, options: LeaseOptions): Promise<Renewal> {
  const id = leaseNumberOf(lease);
  if (id === undefined) throw leaseGone(lease);
  const { ttlSeconds } = await client.call(leaseKeepAlive, id, options);
  // The answer for a lease that there is not: no error, and no time. Before 3.4.31 and 3.5.13 a member that was deposed and does not know it yet
  // may give it for a lease of its successor's. To take a live lease for gone is safe: nobody believes in it, and it ends by its ttl.
  if (ttlSeconds <= 0n) throw leaseGone(lease);
  return { ttlMs: Number(ttlSeconds) * 1_000, validFrom: options.at };
}

export async function revokeLease(client: Client, lease: LeaseId, options: CallOptions): Promise<void> {
  const id = leaseNumberOf(lease);
  if (id === undefined) return;
  try {
    await client.call(leaseRevoke, id, options);
  } catch (error) {
    if (!isIncumbentError(error, 'LEASE_EXPIRED')) throw error;
  }
}

export function leaseGone(lease: LeaseId): StoreError {
  return new StoreError('LEASE_EXPIRED', 'refused', `etcd has no lease ${lease}: it has expired, or was revoked`);
}
