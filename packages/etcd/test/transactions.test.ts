/** Answers to swaps that no healthy etcd gives, from a fake server. */

import type { Store } from '@incumbent/core';
import { openEtcd } from '@incumbent/etcd';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { Writer } from '../src/protocol/protobuf.ts';
import { ok, startFakeServer, type FakeServer } from './fake-server.ts';

const CALL = { timeoutMs: 5_000 };
const VERSION = new Writer().string(2, '3.6.1').finish();
const HEADER = new Writer().int64(3, 7n);
const VALUE = new Uint8Array([1]);

/** The answer to a transaction that failed, with the answers to so many reads of absent keys. */
function failedTxn(reads: number): Uint8Array {
  const message = new Writer().message(1, HEADER).bool(2, false);
  for (let read = 0; read < reads; read += 1) message.message(3, new Writer().message(1, new Writer().message(1, HEADER)));
  return message.finish();
}

let server: FakeServer;
let store: Store;
let answer: Uint8Array;

beforeEach(async () => {
  server = await startFakeServer((stream, headers) => ok(headers[':path'] === '/etcdserverpb.KV/Txn' ? answer : VERSION)(stream, headers));
  store = await openEtcd({ endpoints: [`127.0.0.1:${server.port}`] });
});
afterEach(async () => {
  await store.close();
  await server[Symbol.asyncDispose]();
});

const LACKS_A_PART = { code: 'STORE_FAILED', outcome: 'unknown', message: expect.stringContaining('lacks a part') };

it('a failed swap shows the keys that it failed on', async () => {
  answer = failedTxn(2);
  const changes = ['a', 'b'].map((key) => ({ key, expect: '5', put: VALUE }));
  expect(await store.compareAndSwap(changes, CALL)).toEqual({ swapped: false, failed: [{ index: 0 }, { index: 1 }] });
});

it('a failed swap whose answer lacks a key is an error, and does not show the key as absent', async () => {
  answer = failedTxn(1);
  const changes = ['a', 'b'].map((key) => ({ key, expect: '5', put: VALUE }));
  await expect(store.compareAndSwap(changes, CALL)).rejects.toMatchObject(LACKS_A_PART);
});

it('an entry that exists already, and is missing in the answer, is an error', async () => {
  answer = failedTxn(0);
  await expect(store.enqueue('a', 'b', VALUE, '1f', CALL)).rejects.toMatchObject(LACKS_A_PART);
});

it('an entry whose name has a slash is refused, because it would be in another queue', async () => {
  await expect(store.enqueue('a', 'b/c', VALUE, '1f', CALL)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
});
