import { openStore, type Store } from 'incumbent';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findTraces, partitionsOf, removePartitions } from '../demo/traces.ts';

const CALL = { timeoutMs: 1_000 };

let store: Store;
beforeEach(async () => {
  store = await openStore('memory:');
});
afterEach(async () => store.close());

async function put(...keys: readonly string[]): Promise<void> {
  for (const key of keys) await store.compareAndSwap([{ key, expect: null, put: new Uint8Array([1]) }], CALL);
}

const TERM = 'elections/kafka-controller/term';

test('the last term, partitions, and what is not of this demo are no traces', async () => {
  await put(TERM, 'kafka/partitions/orders-0', 'elections/other/leader', 'members/mallory', 'groups/other/broker-1');
  expect(await findTraces(store)).toEqual([]);
});

test.each([
  'elections/kafka-controller/leader',
  'elections/kafka-controller/candidates/broker-1',
  'members/broker-5',
  'groups/kafka-brokers/broker-1',
])('%s is a trace', async (key) => {
  await put(TERM, key);
  expect(await findTraces(store)).toEqual([key]);
});

test('partitions are removed, and nothing else is', async () => {
  await put('kafka/partitions/orders-0', 'kafka/partitions/late-0', 'kafka/other');
  expect(await partitionsOf(store, 'late')).toEqual(['kafka/partitions/late-0']);
  await removePartitions(store);
  expect((await store.list('kafka', CALL)).map(({ key }) => key)).toEqual(['kafka/other']);
  await removePartitions(store);
});
