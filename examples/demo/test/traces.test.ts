import { openStore, type Store } from 'incumbent';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findTraces, removeOrders } from '../traces.ts';

const CALL = { timeoutMs: 1_000 };

let store: Store;
beforeEach(async () => {
  store = await openStore('memory:');
});
afterEach(async () => store.close());

async function put(...keys: readonly string[]): Promise<void> {
  for (const key of keys) await store.compareAndSwap([{ key, expect: null, put: new Uint8Array([1]) }], CALL);
}

test('the last term, the orders, and what is not of this demo are no traces', async () => {
  await put('elections/demo/term', 'demo/orders', 'elections/other/leader', 'members/mallory', 'members/bobby');
  expect(await findTraces(store)).toEqual([]);
});

test.each(['elections/demo/leader', 'elections/demo/candidates/alice', 'members/bob', 'demo/late'])('%s is a trace', async (key) => {
  await put('elections/demo/term', key);
  expect(await findTraces(store)).toEqual([key]);
});

test('orders and a late write are removed, and nothing else is', async () => {
  await put('demo/orders', 'demo/late', 'demo/other');
  await removeOrders(store);
  expect((await store.list('demo', CALL)).map(({ key }) => key)).toEqual(['demo/other']);
  await removeOrders(store);
});
