/** Reads of one turn of the event loop, against a fake server. */

import type { Entry, Store } from '@incumbent/core';
import { openEtcd } from '@incumbent/etcd';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { frame } from '../src/protocol/frame.ts';
import { Writer } from '../src/protocol/protobuf.ts';
import { fails, ok, raw, startFakeServer, type Answer, type FakeServer } from './fake-server.ts';

const CALL = { timeoutMs: 5_000 };
const VERSION = new Writer().string(2, '3.6.1').finish();
const RANGE = '/etcdserverpb.KV/Range';
const TXN = '/etcdserverpb.KV/Txn';

const header = (): Writer => new Writer().int64(3, 7n);

function rangeOf(key: string): Writer {
  const kv = new Writer().string(1, `incumbent/${key}`).int64(2, 7n).int64(3, 7n).string(5, `value of ${key}`);
  return new Writer().message(1, header()).message(2, kv);
}

/** The answer to a transaction of reads. */
function txnOf(...keys: readonly string[]): Answer {
  const message = new Writer().message(1, header()).bool(2, true);
  for (const key of keys) message.message(3, new Writer().message(1, rangeOf(key)));
  return ok(message.finish());
}

function valueOf(entry: Entry | undefined): string {
  return new TextDecoder().decode(entry?.value);
}

describe('reads', () => {
  let server: FakeServer;
  let store: Store;
  let onTxn: Answer;
  let onRange: Answer[];

  beforeEach(async () => {
    onTxn = fails(14, 'etcdserver: no leader');
    onRange = [];
    server = await startFakeServer((stream, headers) => {
      if (headers[':path'] === TXN) onTxn(stream, headers);
      else if (headers[':path'] === RANGE) (onRange.shift() ?? ok(rangeOf('a').finish()))(stream, headers);
      else ok(VERSION)(stream, headers);
    });
    store = await openEtcd({ endpoints: [`127.0.0.1:${server.port}`] });
  });
  afterEach(async () => {
    await store.close();
    await server[Symbol.asyncDispose]();
  });

  const asked = (): readonly string[] => server.requests.filter((path) => path === RANGE || path === TXN);

  it('of one turn of the event loop are one request, at one revision', async () => {
    onTxn = txnOf('a', 'b');
    const [a, [b]] = await Promise.all([store.read('a', CALL), store.list('b', CALL)]);
    expect([a, b].map(valueOf)).toEqual(['value of a', 'value of b']);
    expect(asked()).toEqual([TXN]);
  });

  it('of different turns are one request each', async () => {
    await store.read('a', CALL);
    await store.read('a', CALL);
    expect(asked()).toEqual([RANGE, RANGE]);
  });

  it.each([
    ['signal', { ...CALL, signal: new AbortController().signal }],
    ['time', { timeoutMs: 6_000 }],
  ])('with another %s are separate requests', async (_, other) => {
    await Promise.all([store.read('a', CALL), store.read('a', other)]);
    expect(asked()).toEqual([RANGE, RANGE]);
  });

  it('are divided into requests of at most 16', async () => {
    const keys = Array.from({ length: 33 }, (_, i) => `k${i}`);
    onTxn = txnOf(...keys.slice(0, 16));
    await Promise.all(keys.map((key) => store.read(key, CALL)));
    expect(asked().toSorted()).toEqual([RANGE, TXN, TXN]);
  });

  it('do not fail because another read of the same request was denied', async () => {
    onTxn = fails(7, 'etcdserver: permission denied');
    onRange = [ok(rangeOf('a').finish()), fails(7, 'etcdserver: permission denied')];
    const [mine, theirs] = await Promise.allSettled([store.read('a', CALL), store.read('b', CALL)]);
    expect(mine).toMatchObject({ value: { key: 'a' } });
    expect(theirs).toMatchObject({ reason: { code: 'PERMISSION_DENIED', outcome: 'refused' } });
    expect(asked()).toEqual([TXN, RANGE, RANGE]);
  });

  it('are sent one by one if the server accepts fewer in one request', async () => {
    onTxn = fails(3, 'etcdserver: too many operations in txn request');
    const both = await Promise.all([store.read('a', CALL), store.read('a', CALL)]);
    expect(both.map(valueOf)).toEqual(['value of a', 'value of a']);
    expect(asked()).toEqual([TXN, RANGE, RANGE]);
  });

  it('are sent one by one if the answer to all of them cannot be read, as one that is too long', async () => {
    onTxn = raw([frame(new Uint8Array([255]))], { 'grpc-status': '0' });
    const both = await Promise.all([store.read('a', CALL), store.read('a', CALL)]);
    expect(both.map(valueOf)).toEqual(['value of a', 'value of a']);
    expect(asked()).toEqual([TXN, RANGE, RANGE]);
  });

  it('all fail if their request fails', async () => {
    const both = await Promise.allSettled([store.read('a', CALL), store.read('b', CALL)]);
    for (const one of both) expect(one).toMatchObject({ reason: { code: 'UNAVAILABLE' } });
    expect(asked()).toEqual([TXN]);
  });

  it('all fail if the answer lacks one of them', async () => {
    onTxn = txnOf('a');
    const both = await Promise.allSettled([store.read('a', CALL), store.read('b', CALL)]);
    expect(both[1]).toMatchObject({ reason: { code: 'STORE_FAILED', message: expect.stringContaining('lacks a part') } });
  });

  it('reject with the reason of their signal', async () => {
    onTxn = () => {};
    const given = new AbortController();
    const both = Promise.allSettled([1, 2].map(() => store.read('a', { ...CALL, signal: given.signal })));
    await expect.poll(asked).toEqual([TXN]);
    given.abort('enough');
    for (const one of await both) expect(one).toEqual({ status: 'rejected', reason: 'enough' });
  });

  it('reject at their timeout', async () => {
    onTxn = () => {};
    const both = await Promise.allSettled([1, 2].map(() => store.read('a', { timeoutMs: 50 })));
    for (const one of both) expect(one).toMatchObject({ reason: { code: 'TIMEOUT' } });
  });
});
