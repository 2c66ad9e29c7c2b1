/** Leases: granted, renewed and ended. */

import { randomUUID } from 'node:crypto';

import type { LeaseId } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';

import type { Database } from './client/database.ts';
import { isOver, type Life } from './host/process-identity.ts';
import type { Tables } from './schema/tables.ts';

/** Below it, a turn of a busy event loop would be a part of the ttl that matters. */
export const MIN_TTL_MS = 250;
export const MAX_TTL_MS = 86_400_000;

export interface Grant {
  readonly id: LeaseId;
  readonly ttlMs: number;
  /** Whose death ends it. */
  readonly life: Life | undefined;
  /** Leases to be ended at the same time. */
  readonly dead: readonly LeaseId[];
}

/** Of processes that have died: nobody may have watched when they did. Looked up before the file is locked. */
export function deadLeases(database: Database): readonly LeaseId[] {
  const over = database.look((tables) => tables.lives()).filter(isOver);
  return over.length === 0 ? [] : database.look((tables) => over.flatMap((life) => tables.leasesOf(life)));
}

/** The ttl that was granted. */
export function grantLease(database: Database, { id, ttlMs, life, dead }: Grant): number {
  const granted = Math.min(Math.max(Math.ceil(ttlMs), MIN_TTL_MS), MAX_TTL_MS);
  database.change(false, (tables) => {
    refuseForeign(tables, database.path);
    tables.endLeases(dead);
    tables.sweep();
    tables.addLease({ id, ttlUs: granted * 1e3, life });
  });
  return granted;
}

export function newLeaseId(): LeaseId {
  return randomUUID();
}

/** The lease's ttl. */
export function renewLease(database: Database, id: LeaseId): number {
  return database.change(false, (tables) => {
    const ttlUs = liveTtlUs(tables, id);
    tables.prolong(id);
    return ttlUs / 1e3;
  });
}

export function revokeLease(database: Database, id: LeaseId): void {
  database.change(false, (tables) => tables.endLeases([id]));
}

/** Throws `LEASE_EXPIRED` when it is gone. */
export function liveTtlUs(tables: Tables, id: LeaseId): number {
  const ttlUs = tables.ttlUsOf(id);
  if (ttlUs !== undefined) return ttlUs;
  throw new StoreError('LEASE_EXPIRED', 'refused', `sqlite: there is no lease ${id}`);
}

/** On a file that machines share, each would take the other's leases for those of an earlier boot: two leaders. */
export function refuseForeign(tables: Tables, path: string): void {
  const [lease] = tables.foreign();
  if (lease === undefined) return;
  const message =
    `sqlite: ${path} is in use by another machine (${lease.machine}). If it was moved here, and nobody there uses it any more, ` +
    'open it once with the option moved: true';
  throw new StoreError('SHARED_FILE', 'refused', message, { details: { file: path, machine: lease.machine } });
}
