/** Queue entries: keys that a lease holds, in the order of their creation. */

import type { Entry, Key, LeaseId } from '@incumbent/core';
import type { CallTime } from '@incumbent/network';

import { transact } from './protocol/txn.ts';
import { operationRefused, refused } from './errors.ts';
import type { Client } from './client/client.ts';
import type { Namespace } from './namespace.ts';
import { encodeChecked, lockOf, readNow } from './transactions.ts';

export interface Place {
  readonly key: Key;
  readonly value: Uint8Array;
  readonly lease: LeaseId;
}

/** An entry that goes between a refusal and the look at it is tried for again, so often at most. */
const MAX_TRIES = 5;

/** If the key is absent, writes it; if it is there, reads it. */
export async function enqueue(client: Client, namespace: Namespace, { key, value, lease }: Place, time: CallTime): Promise<Entry> {
  const path = namespace.path(key);
  const body = encodeChecked([{ verb: 'check-not-exists', path }, lockOf(path, value, lease, 0)]);
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const answer = await transact(client, body, time.left);
    const made = answer.done ? answer.pairs.at(-1) : undefined;
    if (made !== undefined) return namespace.entry({ ...made, value });
    for (const { what } of answer.done ? [] : answer.errors) {
      const error = operationRefused(what);
      if (error !== undefined) throw error;
    }
    const there = await readNow(client, namespace, key, time);
    if (there?.session === lease) return namespace.entry(there);
    if (there !== undefined) throw refused('STORE_FAILED', `there is an entry ${key} already, under another lease`);
  }
  throw refused('UNAVAILABLE', `the entry ${key} comes and goes`);
}
