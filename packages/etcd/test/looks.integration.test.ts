/** What etcd shows of queues to which one process adds entries at the same time. */

import { Member, type Entry, type Store } from '@incumbent/core';
import { openEtcd } from '@incumbent/etcd';
import { type EtcdServer, hostOf, requireStore, startEtcd } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const options = { timeoutMs: 5_000 };
const value = new Uint8Array([1]);

interface Look {
  readonly ahead: readonly Entry[];
  readonly found: Entry | undefined;
}

describe.runIf(await requireStore({ store: 'etcd', own: true }))('entries that are added at the same time', () => {
  let etcd: EtcdServer;
  let store: Store;
  let lease = '';

  beforeAll(async () => {
    etcd = await startEtcd();
    store = await openEtcd({ endpoints: [hostOf(etcd.url)], namespace: 'looks' });
    const at = { monotonicMs: performance.now(), wallMs: Date.now() };
    lease = (await store.grantLease(60_000, { ...options, at })).id;
  });
  afterAll(async () => {
    await store.close();
    await etcd.stop();
  });

  async function add(queue: string, name: string): Promise<Look | undefined> {
    let look: Look | undefined;
    const seen = (ahead: readonly Entry[], found: Entry | undefined): void => void (look = { ahead, found });
    await store.enqueue(queue, name, value, lease, { ...options, look: { key: `${queue}-term`, last: 10, seen } });
    return look;
  }

  async function fill(queue: string, count: number): Promise<void> {
    // The names are not in the order of creation.
    for (let i = count; i > 0; i -= 1) await store.enqueue(queue, `e${i + 10}`, value, lease, options);
  }

  it('show those ahead in their order and the key, but not of a longer queue', async () => {
    await fill('ten', 10);
    await fill('eleven', 11);
    const swapped = await store.compareAndSwap([{ key: 'ten-term', expect: null, put: value }], options);
    expect(swapped.swapped).toBe(true);
    const [ten, empty, eleven] = await Promise.all([add('ten', 'e00'), add('empty', 'e00'), add('eleven', 'e00')]);
    const ahead = (await store.list('ten', { ...options, values: false })).slice(0, 10);
    expect(ten).toEqual({ ahead, found: await store.read('ten-term', options) });
    expect(ahead.map(({ name }) => name)).toEqual(['e20', 'e19', 'e18', 'e17', 'e16', 'e15', 'e14', 'e13', 'e12', 'e11']);
    expect(empty).toEqual({ ahead: [], found: undefined });
    expect(eleven).toBeUndefined();
    expect(await add('ten', 'alone')).toBeUndefined();
  });

  it('elect a process that joins many elections, in each of them once', async () => {
    const member = new Member(store);
    const names = Array.from({ length: 100 }, (_, i) => `election-${i}`);
    const leaderships = await Promise.all(names.map(async (name) => member.election(name).campaign()));
    expect(leaderships.every((leadership) => leadership.isValid() && leadership.term === 1n)).toBe(true);
    await member.shutdown();
    expect(await store.list('elections', options).then((all) => all.filter(({ key }) => !key.endsWith('/term')))).toEqual([]);
  });
});
