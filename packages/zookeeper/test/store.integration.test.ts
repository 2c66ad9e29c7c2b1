/** A store on a real server: permissions, parents, and entries with similar names. */

import { systemClock, type Store } from '@incumbent/core';
import { requireStore, startZookeeper, uniqueNamespace, type ZookeeperServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openZookeeper } from '../src/index.ts';
import { create } from '../src/protocol/nodes.ts';
import { openSession } from '../src/client/session.ts';
import { bytesOf, CALL, realOptions } from './support/real-session.ts';
import { momentOf, settled } from './support/store-world.ts';

describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('a store on zookeeper', () => {
  let zookeeper: ZookeeperServer;
  beforeAll(async () => {
    zookeeper = await startZookeeper();
  });
  afterAll(() => zookeeper.stop());

  function open(namespace: string): Promise<Store> {
    return openZookeeper({ endpoints: [new URL(zookeeper.url).host], namespace });
  }

  async function forbid(path: string): Promise<void> {
    const session = await openSession(realOptions([zookeeper.url]), CALL);
    const acls = [{ permissions: 31, scheme: 'digest', id: 'x:y' }];
    await session.request(create, { path, data: bytesOf('secret'), acls, mode: 'persistent' }, CALL);
    await session.close(CALL);
  }

  it('rejects a list with a key that may not be read', async () => {
    const namespace = uniqueNamespace();
    await using store = await open(namespace);
    await store.compareAndSwap([{ key: 'g/a', expect: null, put: bytesOf('a') }], CALL);
    await forbid(`/${namespace}/g/b`);
    expect(await settled(store.list('g', CALL))).toMatchObject({ code: 'PERMISSION_DENIED', outcome: 'refused' });
  });

  it('ends a watch of a list with a key that may not be read, and no other watch', async () => {
    const namespace = uniqueNamespace();
    await using store = await open(namespace);
    await store.compareAndSwap([{ key: 'g/a', expect: null, put: bytesOf('a') }], CALL);
    await store.compareAndSwap([{ key: 'other', expect: null, put: bytesOf('o') }], CALL);
    const stop = new AbortController();
    let stale = 0;
    const other = store.watch('other', { signal: stop.signal, onStale: () => void (stale += 1) })[Symbol.asyncIterator]();
    await other.next();
    await forbid(`/${namespace}/g/b`);
    const denied = settled(store.watchList('g', { signal: stop.signal })[Symbol.asyncIterator]().next());
    const first = await Promise.race([denied, new Promise((resolve) => setTimeout(() => resolve('nothing in 5 s'), 5_000))]);
    stop.abort();
    expect([first, stale]).toMatchObject([{ code: 'PERMISSION_DENIED' }, 0]);
  });

  it('refuses to create a key at a node that is the parent of others', async () => {
    const namespace = uniqueNamespace();
    await using store = await open(namespace);
    await store.compareAndSwap([{ key: 'dir/a', expect: null, put: bytesOf('a') }], CALL);
    expect(await settled(store.compareAndSwap([{ key: 'dir', expect: null, put: bytesOf('d') }], CALL))).toMatchObject({
      code: 'STORE_FAILED',
    });
  });

  it('enqueues again by finding the entry of exactly that name', async () => {
    const namespace = uniqueNamespace();
    await using store = await open(namespace);
    const { id } = await store.grantLease(10_000, { ...CALL, at: momentOf(systemClock) });
    // Servers list names in no order: one of many is likely to be met before the right one.
    for (let other = 0; other < 20; other += 1) await store.enqueue('q', `me~z${id}~${other}`, bytesOf('1'), id, CALL);
    const first = await store.enqueue('q', 'me', bytesOf('2'), id, CALL);
    const again = await store.enqueue('q', 'me', bytesOf('3'), id, CALL);
    expect(again.key).toBe(first.key);
  });
});
