/** Leases: grant, renew, revoke. */

import { randomBytes } from 'node:crypto';

import type { CallOptions, Lease, LeaseId, LeaseOptions, Renewal } from '@incumbent/core';
import { checkTtl } from '@incumbent/core/adapter';
import { leaseGone } from '@incumbent/network';

import { grantedTtlMs, MAX_TTL_MS } from './capabilities.ts';
import { maybeIntegerAt, onlyRow } from './client/rows.ts';
import { integer, text } from './client/statement.ts';
import type { StoreCalls } from './client/store-calls.ts';

export async function grantLease(calls: StoreCalls, ttlMs: number, options: LeaseOptions): Promise<Lease> {
  const call = calls.check(options);
  checkTtl(ttlMs, MAX_TTL_MS);
  const granted = grantedTtlMs(ttlMs);
  const id = randomBytes(12).toString('hex');
  await calls.run({ method: 'grantLease', name: 'grant_lease', args: [text(id), integer(granted)], read: () => undefined }, call);
  return { id, ttlMs: granted, validFrom: options.at };
}

export async function renewLease(calls: StoreCalls, lease: LeaseId, options: LeaseOptions): Promise<Renewal> {
  const call = calls.check(options);
  if (!isOurs(lease)) throw leaseGone('postgres', lease);
  const ttlMs = await calls.run(
    { method: 'renewLease', name: 'renew_lease', args: [text(lease)], read: (rows) => maybeIntegerAt(onlyRow(rows), 0), urgent: true },
    call,
  );
  if (ttlMs === undefined) throw leaseGone('postgres', lease);
  return { ttlMs, validFrom: options.at };
}

export async function revokeLease(calls: StoreCalls, lease: LeaseId, options: CallOptions): Promise<void> {
  const call = calls.check(options);
  if (!isOurs(lease)) return;
  await calls.run({ method: 'revokeLease', name: 'revoke_lease', args: [text(lease)], read: () => undefined }, call);
}

/**
 * Whether this package can have granted a lease of this name. PostgreSQL refuses some other texts.
 */
export function isOurs(lease: LeaseId): boolean {
  return /^[0-9a-f]{24}$/.test(lease);
}
