/** Leases: grant, renew, revoke, and the time that they have left. */

import { randomBytes } from 'node:crypto';

import type { CallOptions, Lease, LeaseId, LeaseOptions, Renewal } from '@incumbent/core';
import { checkTtl } from '@incumbent/core/adapter';
import { leaseGone } from '@incumbent/network';

import { grantedTtlMs, MAX_TTL_MS } from './capabilities.ts';
import type { Connection } from './client/connection.ts';
import type { StoreCalls } from './client/store-calls.ts';
import type { Keyspace } from './namespace.ts';
import { malformed } from './protocol/failure.ts';
import { listOf, numberOf } from './protocol/replies.ts';
import type { Reply } from './protocol/resp.ts';
import { grantScript, remainingScript, renewScript, revokeScript } from './scripts/leases.ts';
import { runScript } from './scripts/script.ts';

export async function grantLease(calls: StoreCalls, ttlMs: number, options: LeaseOptions): Promise<Lease> {
  const call = calls.check(options);
  checkTtl(ttlMs, MAX_TTL_MS);
  const granted = grantedTtlMs(ttlMs);
  const id = randomBytes(12).toString('hex');
  const args = [id, String(granted)];
  await calls.run({ method: 'grantLease', script: grantScript, args, read: () => undefined }, call);
  return { id, ttlMs: granted, validFrom: options.at };
}

export async function renewLease(calls: StoreCalls, lease: LeaseId, options: LeaseOptions): Promise<Renewal> {
  const call = calls.check(options);
  const ttlMs = await calls.run({ method: 'renewLease', script: renewScript, args: [lease], read: numberOf }, call);
  if (ttlMs === 0) throw leaseGone('redis', lease);
  return { ttlMs, validFrom: options.at };
}

export async function revokeLease(calls: StoreCalls, lease: LeaseId, options: CallOptions): Promise<void> {
  const call = calls.check(options);
  await calls.run({ method: 'revokeLease', script: revokeScript, args: [lease], read: () => undefined }, call);
}

/**
 * The ms that each lease has left: undefined for one that has ended, Infinity for one without an
 * end. Removes the keys of those that have ended. Rejects with an `ExchangeError`.
 */
export async function remainingTimes(
  connection: Connection,
  keyspace: Keyspace,
  leases: readonly LeaseId[],
): Promise<readonly (number | undefined)[]> {
  return runScript(connection, remainingScript, keyspace, leases, (answer) => {
    const times = listOf(answer);
    if (times.length !== leases.length) throw malformed();
    return Array.from(times, remainingOf);
  });
}

function remainingOf(reply: Reply): number | undefined {
  const time = numberOf(reply);
  if (time === -1) return Infinity;
  return time < 0 ? undefined : time;
}
