/** Grants, renews and ends leases. */

import { randomUUID } from 'node:crypto';

import type { Lease, LeaseId, LeaseOptions, Renewal } from '@incumbent/core';
import { checkCall, checkDuration } from '@incumbent/core/adapter';

import { MAX_TTL_MS, MIN_TTL_MS } from './capabilities.ts';
import type { Calls } from './client/calls.ts';
import type { Database } from './client/database.ts';
import { leaseGone, sharedFile } from './errors.ts';
import { hasDied, type ProcessIdentity } from './host/process-identity.ts';
import type { Tables } from './schema/tables.ts';

/**
 * Grants a lease. Also ends the leases of processes that have died, because there may have been no
 * watch to notice it. `holder` is the process whose death ends the lease.
 */
export async function grantLease(calls: Calls, holder: ProcessIdentity | undefined, ttlMs: number, options: LeaseOptions): Promise<Lease> {
  checkDuration('ttlMs', ttlMs);
  const { timeoutMs } = checkCall(options);
  const began = performance.now();
  const id = randomUUID();
  const granted = Math.min(Math.max(Math.ceil(ttlMs), MIN_TTL_MS), MAX_TTL_MS);
  // A separate call, so that the file is not locked while processes are checked.
  const dead = await calls.run(deadLeases, options);
  await calls.write(
    (database) =>
      database.write((tables) => {
        refuseOtherMachines(tables, database.path);
        tables.endLeases(dead);
        tables.deleteEndedLeases();
        tables.addLease({ id, ttlUs: granted * 1e3, holder });
      }),
    { ...options, timeoutMs: Math.max(timeoutMs - (performance.now() - began), 1) },
  );
  return { id, ttlMs: granted, validFrom: options.at };
}

/** Renews a lease, before all calls that wait. Rejects with `LEASE_EXPIRED` if it has ended. */
export async function renewLease(calls: Calls, lease: LeaseId, options: LeaseOptions): Promise<Renewal> {
  const renew = (tables: Tables): number => {
    const ttlUs = requireLease(tables, lease);
    tables.renewLease(lease);
    return ttlUs / 1e3;
  };
  const ttlMs = await calls.run((database) => database.write(renew), { ...options, urgent: true });
  return { ttlMs, validFrom: options.at };
}

/** Ends a lease and deletes its keys. Does nothing if there is no such lease. */
export function revokeLease(database: Database, id: LeaseId): void {
  database.write((tables) => tables.endLeases([id]));
}

/** Returns the ttl of a live lease, in microseconds. Throws `LEASE_EXPIRED` if it has ended. */
export function requireLease(tables: Tables, id: LeaseId): number {
  const ttlUs = tables.ttlUsOf(id);
  if (ttlUs === undefined) throw leaseGone(id);
  return ttlUs;
}

/**
 * Throws `SHARED_FILE` if another machine has leases in the file. Each of two machines would take
 * the leases of the other one for those of an earlier boot, and both would have a leader.
 */
export function refuseOtherMachines(tables: Tables, path: string): void {
  const [lease] = tables.foreignLeases();
  if (lease !== undefined) throw sharedFile(path, lease.machine);
}

function deadLeases(database: Database): readonly LeaseId[] {
  const dead = database.read((tables) => tables.holders()).filter(hasDied);
  return dead.length === 0 ? [] : database.read((tables) => dead.flatMap((holder) => tables.leasesOf(holder)));
}
