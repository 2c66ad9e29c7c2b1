/** What scripts make of what they find: keys whose lease is gone and that nobody has removed yet, and what other hands have left. */

import type { Entry, Lease, ListOptions, Store } from '@incumbent/core';
import { requireStore, startRedis, uniqueNamespace, type RedisServer } from '@incumbent/test-support';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { openRedis } from '../src/index.ts';

const CALL = { timeoutMs: 5_000 };
const LEASE_CALL = { ...CALL, at: { monotonicMs: 0, wallMs: 0 } };
const ONE = new Uint8Array([1]);

describe.runIf(await requireStore({ store: 'redis', own: true }))('a key whose lease is gone', () => {
  let server: RedisServer;
  let store: Store;
  let namespace: string;

  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    namespace = uniqueNamespace();
    store = await openRedis({ endpoints: [new URL(server.url).host], namespace });
    return () => store.close();
  });

  const grant = (): Promise<Lease> => store.grantLease(60_000, LEASE_CALL);
  const enqueue = (name: string, { id }: Lease): Promise<Entry> => store.enqueue('q', name, ONE, id, CALL);
  const names = async (options: Partial<ListOptions> = {}): Promise<readonly string[]> =>
    (await store.list('q', { ...CALL, ...options })).map(({ name }) => name);
  const keys = async (): Promise<readonly string[]> =>
    (await server.ctl(['--scan', '--pattern', `{${namespace}}/*`])).trim().split('\n').filter(Boolean);

  /** As its time would, and nothing else with it. */
  async function end({ id }: Lease): Promise<void> {
    expect(await server.ctl(['del', `{${namespace}}:lease:${id}`])).toBe('1\n');
  }

  it('is absent to a read, and to a list; both remove it, and all others of the lease', async () => {
    for (const look of [() => store.read('q/a', CALL), () => names()]) {
      const [dead, live] = [await grant(), await grant()];
      for (const name of ['a', 'b', 'c']) await enqueue(name, dead);
      await enqueue('live', live);
      await end(dead);
      expect(await keys()).toHaveLength(4);
      expect([undefined, ['live']]).toContainEqual(await look());
      expect(await keys()).toEqual([`{${namespace}}/q/live`]);
      await store.revokeLease(live.id, CALL);
    }
  });

  it('is absent to a swap, that expects it to be, or that expects it', async () => {
    const lease = await grant();
    const [a, b] = [await enqueue('a', lease), await enqueue('b', lease)];
    await end(lease);
    expect(await store.compareAndSwap([{ key: b.key, expect: b.revision, put: ONE }], CALL)).toEqual({
      swapped: false,
      failed: [{ index: 0, current: undefined }],
    });
    expect(await store.compareAndSwap([{ key: a.key, expect: null, put: ONE }], CALL)).toMatchObject({ swapped: true });
    const again = await store.read(a.key, CALL);
    expect(again).not.toHaveProperty('lease');
    expect((again?.order ?? 0n) > b.order).toBe(true);
  });

  it('is absent to an enqueue of its name', async () => {
    const [dead, live] = [await grant(), await grant()];
    const first = await enqueue('a', dead);
    await expect(enqueue('a', live)).rejects.toMatchObject({ code: 'STORE_FAILED', outcome: 'refused' });
    await end(dead);
    const second = await enqueue('a', live);
    expect(second).toMatchObject({ key: first.key, lease: live.id });
    expect(second.order > first.order).toBe(true);
  });

  it('binds nothing: not by a swap, nor by an enqueue, nor after a renewal', async () => {
    const lease = await grant();
    await end(lease);
    const gone = { code: 'LEASE_EXPIRED', outcome: 'refused' };
    await expect(store.compareAndSwap([{ key: 'a', expect: null, put: ONE, lease: lease.id }], CALL)).rejects.toMatchObject(gone);
    await expect(enqueue('a', lease)).rejects.toMatchObject(gone);
    await expect(store.renewLease(lease.id, LEASE_CALL)).rejects.toMatchObject(gone);
    expect(await keys()).toEqual([]);
  });

  it('is not counted among the last few of a list, however many there are', async () => {
    const [dead, live] = [await grant(), await grant()];
    await enqueue('first', live);
    await enqueue('second', live);
    for (let i = 0; i < 150; i += 1) await enqueue(`dead-${i}`, dead);
    const last = await enqueue('last', live);
    await end(dead);
    expect(await names({ last: 2, before: last })).toEqual(['first', 'second']);
    expect(await names({ last: 1 })).toEqual(['last']);
  });

  it('nor among the first few', async () => {
    const [dead, live] = [await grant(), await grant()];
    for (let i = 0; i < 150; i += 1) await enqueue(`dead-${i}`, dead);
    for (const name of ['first', 'second', 'third']) await enqueue(name, live);
    const last = await enqueue('last', live);
    await end(dead);
    expect(await names({ first: 2, before: last })).toEqual(['first', 'second']);
    expect(await names({ first: 9 })).toEqual(['first', 'second', 'third', 'last']);
  });

  it('is told to whoever watches, by whoever comes across it', async () => {
    const other = await openRedis({ endpoints: [new URL(server.url).host], namespace });
    const stop = new AbortController();
    const lease = await grant();
    await enqueue('a', lease);
    const lengths: number[] = [];
    const watching = (async () => {
      for await (const entries of other.watchList('q', { signal: stop.signal })) lengths.push(entries.length);
    })();
    await expect.poll(() => lengths).toEqual([1]);
    await end(lease);
    await store.read('q/a', CALL);
    await expect.poll(() => lengths.at(-1)).toBe(0);
    stop.abort();
    await watching;
    await other.close();
  });

  it('and what is no hash of ours is an entry without a value, that can be replaced', async () => {
    await server.ctl(['rpush', `{${namespace}}/a`, 'what', 'is', 'this']);
    const entry = await store.read('a', CALL);
    expect(entry).toMatchObject({ key: 'a', value: new Uint8Array() });
    const swap = await store.compareAndSwap([{ key: 'a', expect: entry?.revision ?? '', put: ONE }], CALL);
    expect(swap).toMatchObject({ swapped: true });
    expect(await server.ctl(['type', `{${namespace}}/a`])).toBe('hash\n');
  });

  it('does not take a key along that was bound to another meanwhile', async () => {
    const [dead, live] = [await grant(), await grant()];
    const { key, revision } = await enqueue('a', dead);
    await store.compareAndSwap([{ key, expect: revision, put: ONE, lease: live.id }], CALL);
    await store.revokeLease(dead.id, CALL);
    expect((await store.read(key, CALL))?.lease).toBe(live.id);
  });
});
