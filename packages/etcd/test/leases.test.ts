/** Leases, against a fake server. */

import { systemClock, type Store } from '@incumbent/core';
import { openEtcd } from '@incumbent/etcd';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { Writer } from '../src/protocol/protobuf.ts';
import { ok, startFakeServer, type FakeServer } from './fake-server.ts';

const VERSION = new Writer().string(2, '3.6.1').finish();
const LEASE = 0x7bn;
const EMPTY = new Uint8Array(0);

function leaseAnswer(id: bigint, ttlSeconds: bigint): Uint8Array {
  return new Writer().message(1, new Writer().int64(3, 7n)).int64(2, id).int64(3, ttlSeconds).finish();
}

describe('the answer to a', () => {
  let server: FakeServer;
  let store: Store;
  const options = () => ({ timeoutMs: 5_000, at: { monotonicMs: systemClock.monotonic(), wallMs: systemClock.wall() } });

  beforeEach(async () => {
    server = await startFakeServer(ok(VERSION));
    store = await openEtcd({ endpoints: [`127.0.0.1:${server.port}`] });
  });
  afterEach(async () => {
    await store.close();
    await server[Symbol.asyncDispose]();
  });

  it('grant has the lease and its ttl', async () => {
    server.answer = ok(leaseAnswer(LEASE, 5n));
    expect(await store.grantLease(5_000, options())).toMatchObject({ id: '7b', ttlMs: 5_000 });
  });

  it.each([
    ['empty', EMPTY],
    ['without an id', leaseAnswer(0n, 5n)],
    ['without a ttl', leaseAnswer(LEASE, 0n)],
  ])('grant, if it is %s, leaves open whether there is a lease', async (_, answer) => {
    server.answer = ok(answer);
    await expect(store.grantLease(5_000, options())).rejects.toMatchObject({ code: 'STORE_FAILED', outcome: 'unknown' });
  });

  it('renewal without a ttl means that the lease is gone', async () => {
    server.answer = ok(leaseAnswer(LEASE, 0n));
    await expect(store.renewLease('7b', options())).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    server.answer = ok(leaseAnswer(LEASE, 5n));
    expect(await store.renewLease('7b', options())).toMatchObject({ ttlMs: 5_000 });
  });

  it.each([
    ['empty', EMPTY],
    ['about no lease', leaseAnswer(0n, 0n)],
    ['about another lease', leaseAnswer(LEASE + 1n, 5n)],
  ])('renewal, if it is %s, leaves open whether the lease is gone', async (_, answer) => {
    server.answer = ok(answer);
    await expect(store.renewLease('7b', options())).rejects.toMatchObject({ code: 'STORE_FAILED', outcome: 'unknown' });
  });
});
