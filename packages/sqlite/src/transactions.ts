/** Changes: a swap, and the queue's end. */

import type { Change, LeaseId } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';

import type { Database } from './client/database.ts';
import { liveTtlUs } from './leases.ts';
import { revisionOf } from './namespace.ts';
import type { Row, Tables } from './schema/tables.ts';

/** More would keep the file locked, and this process's event loop busy, for too long. */
export const MAX_CHANGES = 1_000;
export const MAX_VALUE_BYTES = 1_048_576;
const MAX_SWAP_BYTES = 16 * MAX_VALUE_BYTES;

export type Swap =
  | { readonly swapped: true; readonly revisions: readonly (number | undefined)[] }
  | { readonly swapped: false; readonly failed: readonly { readonly index: number; readonly current: Row | undefined }[] };

export interface NewEntry {
  readonly key: string;
  readonly value: Uint8Array;
  readonly lease: LeaseId;
}

/** All changes or none; their keys are the file's own. */
export function swap(database: Database, changes: readonly Change[]): Swap {
  checkSizes(changes);
  return database.change(changes.some(outlivesLeases), (tables) => {
    tables.sweep();
    const found = changes.map((change) => tables.read(change.key));
    const failed = changes.flatMap((change, index) => (holds(change, found[index]) ? [] : [{ index, current: found[index] }]));
    if (failed.length > 0) return { swapped: false, failed };
    const leases = changes.map((change, index) => bindingOf(tables, change, found[index]));
    return { swapped: true, revisions: changes.map((change, index) => apply(tables, change, leases[index] ?? null)) };
  });
}

/** The entry that is there, if its name and lease are the same. */
export function enqueue(database: Database, { key, value, lease }: NewEntry): Row {
  checkValue(value);
  return database.change(false, (tables) => {
    tables.sweep();
    liveTtlUs(tables, lease);
    const there = tables.read(key);
    if (there?.lease === lease) return there;
    if (there !== undefined) throw new StoreError('STORE_FAILED', 'refused', `sqlite: ${key} is there, and not under the lease ${lease}`);
    const revision = tables.put(key, value, lease);
    return { key, value, revision, created: revision, lease };
  });
}

/** Whether a loss of power must not undo it. What is made under a lease ends with the machine's boot in any case; what was there before may have had none. */
function outlivesLeases(change: Change): boolean {
  if (!('put' in change)) return 'delete' in change;
  return change.expect !== null || change.lease === undefined || change.lease === null || change.lease === 'keep';
}

function checkSizes(changes: readonly Change[]): void {
  if (changes.length > MAX_CHANGES) throw tooLarge(`${changes.length} changes in one swap: ${MAX_CHANGES} are allowed`);
  const values = changes.flatMap((change) => ('put' in change ? [change.put] : []));
  for (const value of values) checkValue(value);
  const total = values.reduce((sum, value) => sum + value.length, 0);
  if (total > MAX_SWAP_BYTES) throw tooLarge(`${total} bytes in one swap: ${MAX_SWAP_BYTES} are allowed`);
}

function checkValue(value: Uint8Array): void {
  if (value.length > MAX_VALUE_BYTES) throw tooLarge(`a value of ${value.length} bytes: ${MAX_VALUE_BYTES} are allowed`);
}

function tooLarge(what: string): StoreError {
  return new StoreError('TOO_LARGE', 'refused', `sqlite: ${what}`);
}

function holds(change: Change, found: Row | undefined): boolean {
  return change.expect === (found === undefined ? null : revisionOf(found.revision));
}

/** Found before anything changes: a lease that is gone refuses the whole swap. */
function bindingOf(tables: Tables, change: Change, found: Row | undefined): LeaseId | null {
  if (!('put' in change) || change.lease === null) return null;
  if (change.lease === undefined || change.lease === 'keep') return found?.lease ?? null;
  liveTtlUs(tables, change.lease);
  return change.lease;
}

function apply(tables: Tables, change: Change, lease: LeaseId | null): number | undefined {
  if ('put' in change) return tables.put(change.key, change.put, lease);
  if ('delete' in change) tables.delete(change.key);
  return undefined;
}
