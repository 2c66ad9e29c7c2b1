/** Entries of a queue: keys under a prefix, in the order of their creation. */

import type { Entry, EnqueueOptions, Key, LeaseId, QueueLook } from '@incumbent/core';
import { checkLook, checkEntryKey, withoutValue, type NewEntry } from '@incumbent/core/adapter';
import { checkValueSize, keyTaken, leaseGone } from '@incumbent/network';

import { LIMITS } from './capabilities.ts';
import type { StoreCalls } from './client/store-calls.ts';
import { storedEntryOf } from './protocol/entries.ts';
import { malformed } from './protocol/failure.ts';
import { bytesOf, listOf, textOf } from './protocol/replies.ts';
import type { Reply } from './protocol/resp.ts';
import { enqueueScript } from './scripts/transactions.ts';

export async function enqueue(calls: StoreCalls, { prefix, name, value, lease }: NewEntry, options: EnqueueOptions): Promise<Entry> {
  const call = calls.check(options);
  const key = checkEntryKey(prefix, name);
  checkValueSize(LIMITS, value, key);
  const { look } = options;
  checkLook(look);
  // A copy, because the caller may change its bytes while the call waits for a connection.
  const args = [key, new Uint8Array(value), lease, ...(look === undefined ? [] : [prefix, String(look.last), look.key])];
  const read = (answer: Reply): Entry => enqueuedEntry(answer, key, lease, look);
  return calls.run({ method: 'enqueue', script: enqueueScript, args, read }, call);
}

/** Reads the answer of `enqueueScript`, and passes on what the script has read for a look. */
export function enqueuedEntry(answer: Reply, key: Key, lease: LeaseId, look?: QueueLook): Entry {
  const [kind, stored, ahead, found] = listOf(answer);
  switch (textOf(bytesOf(kind))) {
    case 'done': {
      const entry = storedEntryOf(stored ?? null)?.entry;
      if (entry === undefined) throw malformed();
      if (ahead !== undefined) show(look, ahead, found);
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

function show(look: QueueLook | undefined, ahead: Reply, found: Reply | undefined): void {
  const entries = Array.from(listOf(ahead), (reply) => storedEntryOf(reply)?.entry ?? []).flat();
  look?.seen(entries.map(withoutValue), storedEntryOf(found ?? null)?.entry);
}
