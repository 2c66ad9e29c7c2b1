/** What the demo leaves in a store. */

import type { Store } from 'incumbent';
import { ELECTION, LATE_KEY, ORDERS_KEY } from './messages.ts';
import { MEMBERS } from './screen.ts';
import { untilAnswered } from './until-answered.ts';

const CALL = { timeoutMs: 2_500 };

/** Deletes what the job wrote. */
export async function removeOrders(store: Store): Promise<void> {
  for (const key of [ORDERS_KEY, LATE_KEY]) {
    const entry = await untilAnswered(async () => store.read(key, CALL));
    if (entry !== undefined) await untilAnswered(async () => store.compareAndSwap([{ key, expect: entry.revision, delete: true }], CALL));
  }
}

/** All keys of this demo but the last term, which is never deleted. Orders are the job's: they may be there, a late write may not. */
export async function findTraces(store: Store): Promise<readonly string[]> {
  const election = await keysUnder(store, `elections/${ELECTION}`);
  const others = [...(await keysUnder(store, 'members')), ...(await keysUnder(store, 'demo'))];
  const ours = new Set([LATE_KEY, ...MEMBERS.map((member) => `members/${member}`)]);
  return [...election.filter((key) => key !== `elections/${ELECTION}/term`), ...others.filter((key) => ours.has(key))];
}

async function keysUnder(store: Store, prefix: string): Promise<readonly string[]> {
  const entries = await untilAnswered(async () => store.list(prefix, { ...CALL, values: false }));
  return entries.map(({ key }) => key);
}
