import { Member, type Store } from '@incumbent/core';
import { requireStore, startRedis, uniqueNamespace, type RedisServer } from '@incumbent/test-support';
import { closedEndpoint, withWrongServer, type WrongServer } from '@incumbent/test-support/wrong-server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openRedis, type RedisOptions } from '../src/index.ts';
import { at, CALL, failureOf, LEASE_CALL, put } from './opening.ts';

describe('a server that is not Redis', () => {
  it.each<[WrongServer, object]>([
    ['accepts and sends nothing', { code: 'UNREACHABLE', outcome: 'notSent' }],
    ['sends garbage', { code: 'UNSUPPORTED' }],
    ['ends every connection', { code: 'UNREACHABLE' }],
    ['speaks HTTP', { code: 'UNSUPPORTED' }],
  ])('and %s is recognised in bounded time', async (kind, expected) => {
    await withWrongServer(kind, async (endpoint) => expect(await failureOf({ endpoints: [endpoint] })).toMatchObject(expected));
  });

  it('or that does not exist or has no address is unreachable', async () => {
    for (const where of [await closedEndpoint(), 'no-such-host.invalid'])
      expect(await failureOf({ endpoints: [where] })).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
  });
});

describe.runIf(await requireStore({ store: 'redis', own: true }))('a redis', () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  const open = (options: Partial<RedisOptions> = {}): Promise<Store> =>
    openRedis({ endpoints: at(server), namespace: uniqueNamespace(), ...options });

  it('is refused by an election without acceptWeakStore', async () => {
    await using store = await open();
    await using member = new Member(store);
    expect(() => member.election('controller')).toThrow(expect.objectContaining({ code: 'WEAK_STORE' }));
    const leadership = await member.election('controller', { acceptWeakStore: 'redis' }).campaign();
    expect(leadership.isValid()).toBe(true);
  });

  it('separates databases and namespaces, also in watches', async () => {
    const namespace = uniqueNamespace();
    await using one = await open({ namespace });
    await using two = await open({ namespace, db: 2 });
    await using three = await open({ namespace: `${namespace}/a` });
    const stop = new AbortController();
    const watches = [two, three].map((store) => store.watchList('k', { signal: stop.signal })[Symbol.asyncIterator]());
    for (const watch of watches) expect((await watch.next()).value).toEqual([]);
    await put(one, 'k/a');
    await put(two, 'k/b');
    expect((await one.list('k', CALL)).map(({ key }) => key)).toEqual(['k/a']);
    expect((await two.list('k', CALL)).map(({ key }) => key)).toEqual(['k/b']);
    expect(await three.list('k', CALL)).toEqual([]);
    const next: unknown = (await watches[0]?.next())?.value;
    expect(next).toMatchObject([{ key: 'k/b' }]);
    stop.abort();
  });

  it('without the requested database is refused', async () => {
    expect(await failureOf({ endpoints: at(server), db: 99 })).toMatchObject({ code: 'UNSUPPORTED' });
  });

  it('that has forgotten a script gets its text again', async () => {
    await using store = await open();
    await put(store, 'a');
    await server.ctl(['script', 'flush', 'sync']);
    expect((await store.read('a', CALL))?.key).toBe('a');
  });

  it('that is stuck in another script refuses calls, and serves afterwards', async () => {
    await using busy = await startRedis({ flags: ['--busy-reply-threshold', '50'] });
    await using store = await openRedis({ endpoints: at(busy) });
    const endless = busy.ctl(['eval', 'while true do end', '0']).catch(() => {});
    await expect
      .poll(() => put(store, 'a').catch((error: unknown) => error), { timeout: 5_000 })
      .toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent' });
    await busy.ctl(['script', 'kill']);
    await endless;
    expect(await put(store, 'b')).toMatchObject({ swapped: true });
  });

  it('shows its values to redis-cli, and the store sees what redis-cli writes and deletes', async () => {
    const namespace = uniqueNamespace();
    await using store = await open({ namespace });
    await store.compareAndSwap([{ key: 'a/b', expect: null, put: Buffer.from('ours') }], CALL);
    expect(await server.ctl(['hget', `{${namespace}}/a/b`, 'v'])).toBe('ours\n');
    await server.ctl(['set', `{${namespace}}/a/b`, 'theirs']);
    const [entry] = await store.list('a', CALL);
    expect(Buffer.from(entry?.value ?? []).toString()).toBe('theirs');
    await server.ctl(['del', `{${namespace}}/a/b`]);
    expect(await store.list('a', CALL)).toEqual([]);
    expect(await put(store, 'a/b')).toMatchObject({ swapped: true });
  });

  it('removes the keys of leases that have ended, although nobody reads them', async () => {
    const namespace = uniqueNamespace();
    await using store = await open({ namespace });
    const lease = await store.grantLease(100, LEASE_CALL);
    for (const name of ['a', 'b']) await store.enqueue('q', name, new Uint8Array(), lease.id, CALL);
    await new Promise((resolve) => setTimeout(resolve, 150));
    const kept = await store.grantLease(60_000, LEASE_CALL);
    const keys = (await server.ctl(['--scan', '--pattern', `{${namespace}}*`])).trim().split('\n');
    expect(keys.toSorted()).toEqual([':clock', `:lease:${kept.id}`, ':leases'].map((rest) => `{${namespace}}${rest}`));
  });
});

describe.runIf(await requireStore({ store: 'redis', own: true }))('a redis that starts again without its data', () => {
  it('has lost every lease, which watches and renewals report, and gives stamps above the former ones', async () => {
    await using server = await startRedis({ persistent: false });
    await using store = await openRedis({ endpoints: at(server) });
    const lease = await store.grantLease(60_000, LEASE_CALL);
    const before = await store.enqueue('q', 'mine', new Uint8Array(), lease.id, CALL);
    const stop = new AbortController();
    const states: number[] = [];
    const watching = (async () => {
      for await (const entries of store.watchList('q', { signal: stop.signal })) states.push(entries.length);
    })();
    await expect.poll(() => states).toEqual([1]);
    await server.restart();
    await expect.poll(() => states, { timeout: 10_000 }).toEqual([1, 0]);
    await expect(store.renewLease(lease.id, LEASE_CALL)).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    const fresh = await store.grantLease(60_000, LEASE_CALL);
    const after = await store.enqueue('q', 'mine', new Uint8Array(), fresh.id, CALL);
    expect(after.order > before.order && BigInt(after.revision) > BigInt(before.revision)).toBe(true);
    stop.abort();
    await watching;
  });
});
