/** Entries of a queue: keys under a prefix, in the order of their creation. */

import type { CallOptions, Entry, Key, LeaseId } from '@incumbent/core';
import { checkEntryKey, type NewEntry } from '@incumbent/core/adapter';
import { checkValueSize, keyTaken, leaseGone } from '@incumbent/network';

import { LIMITS } from './capabilities.ts';
import { malformed } from './client/failure.ts';
import { entryAt, onlyRow, type Row, textAt } from './client/rows.ts';
import { bytes, text } from './client/statement.ts';
import type { StoreCalls } from './client/store-calls.ts';
import { isOurs } from './leases.ts';

export async function enqueue(calls: StoreCalls, { prefix, name, value, lease }: NewEntry, options: CallOptions): Promise<Entry> {
  const call = calls.check(options);
  const key = calls.checkKey('prefix', checkEntryKey(prefix, name));
  checkValueSize(LIMITS, value, key);
  if (!isOurs(lease)) throw leaseGone('postgres', lease);
  const args = [text(key), bytes(value), text(lease)];
  return calls.run({ method: 'enqueue', name: 'enqueue', args, read: (rows) => enqueuedEntry(rows, key, lease) }, call);
}

/** Reads the answer of the function `enqueue`. */
function enqueuedEntry(rows: readonly Row[], key: Key, lease: LeaseId): Entry {
  const row = onlyRow(rows);
  switch (textAt(row, 0)) {
    case 'done':
      return entryAt(row, 2);
    case 'taken':
      throw keyTaken('postgres', key);
    case 'lease':
      throw leaseGone('postgres', lease);
    default:
      throw malformed();
  }
}
