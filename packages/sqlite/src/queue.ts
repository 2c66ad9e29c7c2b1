/** Adds entries to a queue, which is the keys below a prefix in their order of creation. */

import type { CallOptions, Entry, LeaseId } from '@incumbent/core';
import { checkEntryKey, type NewEntry } from '@incumbent/core/adapter';

import type { Calls } from './client/calls.ts';
import type { Database } from './client/database.ts';
import { keyTaken } from './errors.ts';
import { requireLease } from './leases.ts';
import type { Namespace } from './namespace.ts';
import type { Row } from './schema/tables.ts';
import { checkValue } from './transactions.ts';

/**
 * Adds an entry at the end of the queue. If an entry of this name and lease exists, returns that
 * entry. Rejects with `LEASE_EXPIRED` if the lease has ended, and with `STORE_FAILED` if the name
 * exists under another lease.
 */
export async function enqueue(calls: Calls, namespace: Namespace, entry: NewEntry, options: CallOptions): Promise<Entry> {
  const { prefix, name, lease } = entry;
  const key = namespace.key(checkEntryKey(prefix, name));
  // A copy, because the caller may change the bytes before the call runs.
  const value = new Uint8Array(entry.value);
  const row = await calls.write((database) => addEntry(database, key, value, lease), options);
  return namespace.entry(row);
}

function addEntry(database: Database, key: string, value: Uint8Array, lease: LeaseId): Row {
  checkValue(value, key);
  return database.write((tables) => {
    tables.deleteEndedLeases();
    requireLease(tables, lease);
    const existing = tables.read(key);
    if (existing?.lease === lease) return existing;
    if (existing !== undefined) throw keyTaken(key, lease);
    const revision = tables.put(key, value, lease);
    return { key, value, revision, created: revision, lease };
  });
}
