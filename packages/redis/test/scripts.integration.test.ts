/**
 * What scripts do with keys whose lease has ended and that are still there, and with keys that were
 * written by hand.
 */

import type { Entry, Lease, ListOptions, Store } from '@incumbent/core';
import { requireStore } from '@incumbent/test-support';
import { beforeEach, describe, expect, it } from 'vitest';

import { CALL, follow, LEASE_CALL, ONE, StoreFixture } from './opening.ts';

describe.runIf(await requireStore({ store: 'redis', own: true }))('a key whose lease has ended', () => {
  const fixture = new StoreFixture();
  let store: Store;
  let namespace: string;

  beforeEach(() => {
    ({ store, namespace } = fixture);
  });

  const ctl = (...args: readonly string[]): Promise<string> => fixture.server.ctl(args);
  const grant = (): Promise<Lease> => store.grantLease(60_000, LEASE_CALL);
  const enqueue = (name: string, { id }: Lease): Promise<Entry> => store.enqueue('q', name, ONE, id, CALL);
  const names = async (options: Partial<ListOptions> = {}): Promise<readonly string[]> =>
    (await store.list('q', { ...CALL, ...options })).map(({ name }) => name);
  const keys = async (): Promise<readonly string[]> =>
    (await ctl('--scan', '--pattern', `{${namespace}}/*`)).trim().split('\n').filter(Boolean);

  /** Ends the lease as its time would, without its keys. */
  async function end({ id }: Lease): Promise<void> {
    expect(await ctl('del', `{${namespace}}:lease:${id}`)).toBe('1\n');
  }

  it('is absent to a read and to a list, which remove it and all other keys of the lease', async () => {
    for (const access of [() => store.read('q/a', CALL), () => names()]) {
      const [dead, live] = [await grant(), await grant()];
      for (const name of ['a', 'b', 'c']) await enqueue(name, dead);
      await enqueue('live', live);
      await end(dead);
      expect(await keys()).toHaveLength(4);
      expect([undefined, ['live']]).toContainEqual(await access());
      expect(await keys()).toEqual([`{${namespace}}/q/live`]);
      await store.revokeLease(live.id, CALL);
    }
  });

  it('is absent to a swap, whether the swap expects it or not', async () => {
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

  it('cannot be made: not by a swap, by an enqueue, or after a renewal', async () => {
    const lease = await grant();
    await end(lease);
    const gone = { code: 'LEASE_EXPIRED', outcome: 'refused' };
    await expect(store.compareAndSwap([{ key: 'a', expect: null, put: ONE, lease: lease.id }], CALL)).rejects.toMatchObject(gone);
    await expect(enqueue('a', lease)).rejects.toMatchObject(gone);
    await expect(store.renewLease(lease.id, LEASE_CALL)).rejects.toMatchObject(gone);
    expect(await keys()).toEqual([]);
  });

  it('does not count among the last few of a list, however many there are', async () => {
    const [dead, live] = [await grant(), await grant()];
    await enqueue('first', live);
    await enqueue('second', live);
    for (let i = 0; i < 150; i += 1) await enqueue(`dead-${i}`, dead);
    const last = await enqueue('last', live);
    await end(dead);
    expect(await names({ last: 2, before: last })).toEqual(['first', 'second']);
    expect(await names({ last: 1 })).toEqual(['last']);
  });

  it('does not count among the first few of a list', async () => {
    const [dead, live] = [await grant(), await grant()];
    for (let i = 0; i < 150; i += 1) await enqueue(`dead-${i}`, dead);
    for (const name of ['first', 'second', 'third']) await enqueue(name, live);
    const last = await enqueue('last', live);
    await end(dead);
    expect(await names({ first: 2, before: last })).toEqual(['first', 'second']);
    expect(await names({ first: 9 })).toEqual(['first', 'second', 'third', 'last']);
  });

  it('is removed by the first access, which other watches show', async () => {
    await using other = await fixture.open();
    const lease = await grant();
    await enqueue('a', lease);
    const { seen, stop } = follow((options) => other.watchList('q', options));
    await expect.poll(() => seen.map(({ length }) => length)).toEqual([1]);
    await end(lease);
    await store.read('q/a', CALL);
    await expect.poll(() => seen.at(-1)).toEqual([]);
    await stop();
  });

  it('or that is not a hash is an entry without a value, which can be replaced', async () => {
    await ctl('rpush', `{${namespace}}/a`, 'what', 'is', 'this');
    const entry = await store.read('a', CALL);
    expect(entry).toMatchObject({ key: 'a', value: new Uint8Array() });
    const swap = await store.compareAndSwap([{ key: 'a', expect: entry?.revision ?? '', put: ONE }], CALL);
    expect(swap).toMatchObject({ swapped: true });
    expect(await ctl('type', `{${namespace}}/a`)).toBe('hash\n');
  });

  it('does not include a key that was bound to another lease meanwhile', async () => {
    const [dead, live] = [await grant(), await grant()];
    const { key, revision } = await enqueue('a', dead);
    await store.compareAndSwap([{ key, expect: revision, put: ONE, lease: live.id }], CALL);
    await store.revokeLease(dead.id, CALL);
    expect((await store.read(key, CALL))?.lease).toBe(live.id);
  });
});
