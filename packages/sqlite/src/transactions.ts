/** Applies the changes of one `compareAndSwap` in one transaction: all of them or none. */

import type { CallOptions, Change, Key, LeaseId, SwapResult } from '@incumbent/core';
import { checkChanges } from '@incumbent/core/adapter';

import { MAX_CHANGES, MAX_SWAP_BYTES, MAX_VALUE_BYTES } from './capabilities.ts';
import type { Calls } from './client/calls.ts';
import type { Database } from './client/database.ts';
import { tooLarge } from './errors.ts';
import { requireLease } from './leases.ts';
import { revisionOf, type Namespace } from './namespace.ts';
import type { Row, Tables } from './schema/tables.ts';

type Swap =
  | { readonly swapped: true; readonly revisions: readonly (number | undefined)[] }
  | { readonly swapped: false; readonly failed: readonly { readonly index: number; readonly current: Row | undefined }[] };

/**
 * Applies all changes, or none if an expected revision does not match. Rejects with `TOO_LARGE`
 * beyond the limits, and with `LEASE_EXPIRED` if a change binds a key to a lease that has ended.
 */
export async function compareAndSwap(
  calls: Calls,
  namespace: Namespace,
  changes: readonly Change[],
  options: CallOptions,
): Promise<SwapResult> {
  checkChanges(changes);
  const stored = changes.map((change) => namespace.change(change));
  const swap = await calls.write((database) => apply(database, stored), options);
  if (swap.swapped) return { swapped: true, revisions: swap.revisions.map((one) => (one === undefined ? one : revisionOf(one))) };
  const failed = swap.failed.map(({ index, current }) => ({ index, current: current && namespace.entry(current) }));
  return { swapped: false, failed };
}

function apply(database: Database, changes: readonly Change[]): Swap {
  checkSizes(changes);
  const work = (tables: Tables): Swap => {
    tables.deleteEndedLeases();
    const found = changes.map((change) => tables.read(change.key));
    const failed = changes.flatMap((change, index) => (matches(change, found[index]) ? [] : [{ index, current: found[index] }]));
    if (failed.length > 0) return { swapped: false, failed };
    // Before the first change, because a lease that has ended refuses the whole swap.
    const leases = changes.map((change, index) => leaseOf(tables, change, found[index]));
    return { swapped: true, revisions: changes.map((change, index) => applyOne(tables, change, leases[index] ?? null)) };
  };
  return database.write(work, { durable: changes.some(mustBeDurable) });
}

/**
 * Whether a loss of power must not undo the change. A key that is created under a lease need not be
 * durable, because the lease ends with the boot anyway. A key that existed may have had no lease.
 */
function mustBeDurable(change: Change): boolean {
  if (!('put' in change)) return 'delete' in change;
  return change.expect !== null || change.lease === undefined || change.lease === null || change.lease === 'keep';
}

function checkSizes(changes: readonly Change[]): void {
  if (changes.length > MAX_CHANGES) throw tooLarge(`${changes.length} changes in one swap: ${MAX_CHANGES} are allowed`);
  const puts = changes.filter((change) => 'put' in change);
  for (const { put, key } of puts) checkValue(put, key);
  const total = puts.reduce((sum, { put }) => sum + put.length, 0);
  if (total > MAX_SWAP_BYTES) throw tooLarge(`${total} bytes in one swap: ${MAX_SWAP_BYTES} are allowed`);
}

/** Throws `TOO_LARGE` if the value has more bytes than a key can hold. */
export function checkValue(value: Uint8Array, key: Key): void {
  if (value.length > MAX_VALUE_BYTES) throw tooLarge(`a value of ${value.length} bytes for the key ${key}: ${MAX_VALUE_BYTES} are allowed`);
}

function matches(change: Change, found: Row | undefined): boolean {
  return change.expect === (found === undefined ? null : revisionOf(found.revision));
}

/** The lease that the key has after the change. */
function leaseOf(tables: Tables, change: Change, found: Row | undefined): LeaseId | null {
  if (!('put' in change) || change.lease === null) return null;
  if (change.lease === undefined || change.lease === 'keep') return found?.lease ?? null;
  requireLease(tables, change.lease);
  return change.lease;
}

/** Returns the new revision of a key that was put. */
function applyOne(tables: Tables, change: Change, lease: LeaseId | null): number | undefined {
  if ('put' in change) return tables.put(change.key, change.put, lease);
  if ('delete' in change) tables.delete(change.key);
  return undefined;
}
