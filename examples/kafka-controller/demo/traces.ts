/** What the demo leaves in a store. */

import type { Store } from 'incumbent';
import { ELECTION, GROUP, keyOf, PARTITIONS } from '../keys.ts';
import { BROKERS } from './screen.ts';
import { untilAnswered } from './until-answered.ts';

const CALL = { timeoutMs: 2_500 };

/** Deletes the partitions. */
export async function removePartitions(store: Store): Promise<void> {
  for (const { key, revision } of await untilAnswered(async () => store.list(PARTITIONS, CALL)))
    await untilAnswered(async () => store.compareAndSwap([{ key, expect: revision, delete: true }], CALL));
}

/** The partitions of a topic that should not exist. */
export async function partitionsOf(store: Store, topic: string): Promise<readonly string[]> {
  return (await keysUnder(store, PARTITIONS)).filter((key) => key.startsWith(keyOf(`${topic}-`)));
}

/**
 * All keys of this demo except the last term, which is never deleted. Partitions are data and may
 * stay.
 */
export async function findTraces(store: Store): Promise<readonly string[]> {
  const election = await keysUnder(store, `elections/${ELECTION}`);
  const members = await keysUnder(store, 'members');
  const ours = new Set(BROKERS.map((broker) => `members/${broker}`));
  return [
    ...election.filter((key) => key !== `elections/${ELECTION}/term`),
    ...(await keysUnder(store, `groups/${GROUP}`)),
    ...members.filter((key) => ours.has(key)),
  ];
}

async function keysUnder(store: Store, prefix: string): Promise<readonly string[]> {
  const entries = await untilAnswered(async () => store.list(prefix, { ...CALL, values: false }));
  return entries.map(({ key }) => key);
}
