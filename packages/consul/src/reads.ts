/**
 * `read` and `list`. Both are linearizable: the leader of the servers responds after a quorum has
 * confirmed it.
 */

import type { Entry, Key, ListOptions } from '@incumbent/core';
import { partOfList, withoutValue } from '@incumbent/core/adapter';
import type { CallTime } from '@incumbent/network';

import type { Client } from './client/client.ts';
import type { Namespace } from './namespace.ts';
import { readKeys, type Pair } from './protocol/kv.ts';

export async function readEntry(client: Client, namespace: Namespace, key: Key, time: CallTime): Promise<Entry | undefined> {
  const pair = await readPair(client, namespace, key, time);
  return pair === undefined ? undefined : namespace.entry(pair);
}

/** Like {@link readEntry}, but returns Consul's pair. */
export async function readPair(client: Client, namespace: Namespace, key: Key, time: CallTime): Promise<Pair | undefined> {
  const [pair] = await readKeys(client, namespace.key(key), time.left);
  return pair;
}

/**
 * Consul returns all values of the list in any case, so the options only select from its response.
 * Without `values`, each value is dropped as it arrives.
 */
export async function listEntries(
  client: Client,
  namespace: Namespace,
  prefix: Key,
  options: ListOptions,
  time: CallTime,
): Promise<readonly Entry[]> {
  const { values = true, before } = options;
  const pairs = await readKeys(client, namespace.under(prefix), time.left, values);
  const entries = namespace.entries(pairs);
  const earlier = before === undefined ? entries : entries.filter(({ order }) => order < before.order);
  const some = partOfList(earlier, options);
  return values ? some : some.map(withoutValue);
}
