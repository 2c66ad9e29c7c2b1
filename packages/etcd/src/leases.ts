/** Leases, in whole seconds. */

import type { Lease, LeaseId, LeaseOptions, Renewal, TimedCall } from '@incumbent/core';
import { isIncumbentError } from '@incumbent/core/adapter';
import { leaseGone } from '@incumbent/network';

import type { Client } from './client/client.ts';
import { boundLease, leaseIdOf, leaseNumberOf } from './namespace.ts';
import { leaseGrant, leaseKeepAlive, leaseRevoke } from './protocol/lease.ts';

export async function grantLease(client: Client, ttlMs: number, options: TimedCall<LeaseOptions>): Promise<Lease> {
  const granted = await client.call(leaseGrant, BigInt(Math.ceil(ttlMs / 1_000)), options);
  return { id: leaseIdOf(granted.id), ttlMs: Number(granted.ttlSeconds) * 1_000, validFrom: options.at };
}

export async function renewLease(client: Client, lease: LeaseId, options: TimedCall<LeaseOptions>): Promise<Renewal> {
  const { ttlSeconds } = await client.call(leaseKeepAlive(boundLease(lease)), undefined, options);
  // etcd answers without an error, and with no ttl, for a lease that does not exist. Before 3.4.31
  // and 3.5.13 a member that no longer leads the cluster, and does not know it yet, may give that
  // answer for a live lease of its successor. Reporting a live lease as gone is safe: its holder
  // stops using it, and the lease expires.
  if (ttlSeconds <= 0n) throw leaseGone('etcd', lease);
  return { ttlMs: Number(ttlSeconds) * 1_000, validFrom: options.at };
}

/** Idempotent: revoking a lease that does not exist succeeds. */
export async function revokeLease(client: Client, lease: LeaseId, options: TimedCall): Promise<void> {
  const id = leaseNumberOf(lease);
  if (id === undefined) return;
  try {
    await client.call(leaseRevoke, id, options);
  } catch (error) {
    if (!isIncumbentError(error, 'LEASE_EXPIRED')) throw error;
  }
}
