/** Entries of a queue: keys under a prefix, in the order of their creation. */

import type { CallOptions, Entry, Key, LeaseId } from '@incumbent/core';
import { checkPart, checkPath } from '@incumbent/core/adapter';
import { checkValueSize, keyTaken, leaseGone, type NewEntry } from '@incumbent/network';

import { LIMITS } from './capabilities.ts';
import type { StoreCalls } from './client/store-calls.ts';
import { storedEntryOf } from './protocol/entries.ts';
import { malformed } from './protocol/failure.ts';
import { bytesOf, listOf, textOf } from './protocol/replies.ts';
import type { Reply } from './protocol/resp.ts';
import { enqueueScript } from './scripts/transactions.ts';

export async function enqueue(calls: StoreCalls, { prefix, name, value, lease }: NewEntry, options: CallOptions): Promise<Entry> {
  const call = calls.check(options);
  const key = `${checkPath('prefix', prefix)}/${checkPart('name', name)}`;
  checkValueSize(LIMITS, value);
  // A copy, because the caller may change its bytes while the call waits for a connection.
  const args = [key, new Uint8Array(value), lease];
  return calls.run({ method: 'enqueue', script: enqueueScript, args, read: (answer) => enqueuedEntry(answer, key, lease) }, call);
}

/** Reads the answer of `enqueueScript`. */
export function enqueuedEntry(answer: Reply, key: Key, lease: LeaseId): Entry {
  const [kind, stored] = listOf(answer);
  switch (textOf(bytesOf(kind))) {
    case 'done': {
      const entry = storedEntryOf(stored ?? null)?.entry;
      if (entry === undefined) throw malformed();
      return entry;
    }
    case 'taken':
      throw keyTaken('redis', key);
    case 'lease':
      throw leaseGone('redis', lease);
    default:
      throw malformed();
  }
}
