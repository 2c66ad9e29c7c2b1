/**
 * `enqueue`: queue entries are keys that a session has locked. Their order is the order of their
 * creation.
 */

import type { Entry } from '@incumbent/core';
import { type CallTime, keyTaken } from '@incumbent/network';

import type { Client } from './client/client.ts';
import { checkOperationErrors, refused } from './errors.ts';
import type { Namespace } from './namespace.ts';
import { transact } from './protocol/txn.ts';
import { readPair } from './reads.ts';
import { encodeChecked, lockOperation } from './transactions.ts';

/**
 * How often the entry is written if it is deleted each time between the refusal of the write and
 * the read after it.
 */
const MAX_TRIES = 5;

/**
 * Writes the key if it is absent. Otherwise returns the entry that is there, which must have the
 * same lease.
 */
export async function enqueue(
  client: Client,
  namespace: Namespace,
  { key, value, lease }: Required<Pick<Entry, 'key' | 'value' | 'lease'>>,
  time: CallTime,
): Promise<Entry> {
  const path = namespace.path(key);
  const body = encodeChecked([{ verb: 'check-not-exists', path }, lockOperation(path, value, lease, 0)]);
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const result = await transact(client, body, time.left);
    const written = result.done ? result.pairs.at(-1) : undefined;
    if (written !== undefined) return namespace.entry({ ...written, value });
    checkOperationErrors(result.done ? [] : result.errors);
    const existing = await readPair(client, namespace, key, time);
    if (existing?.session === lease) return namespace.entry(existing);
    if (existing !== undefined) throw keyTaken('consul', key);
  }
  throw refused('UNAVAILABLE', `the entry ${key} was written and deleted by others ${MAX_TRIES} times`);
}
