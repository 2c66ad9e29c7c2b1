/** When leases end, and by which clock. The hosts' clock moves only when the test moves it. */

import type { Lease, Store } from '@incumbent/core';
import { describe, expect, it, vi } from 'vitest';

import { MAX_READ_US } from '../src/client/database.ts';
import { ownIdentity } from '../src/host/process-identity.ts';
import { readHost } from '../src/host/host.ts';
import { bytes, CALL, LEASE_CALL, textOf, useRig } from './rig.ts';

const TTL_MS = 10_000;
const ROWS = 'SELECT count(*) FROM keys';

const rig = useRig();

async function put(store: Store, key: string, lease: Lease | null): Promise<boolean> {
  return (await store.compareAndSwap([{ key, expect: null, put: bytes(key), lease: lease?.id ?? null }], CALL)).swapped;
}

/** A store, and a lease on it that holds the key `a`. */
async function leased(): Promise<{ readonly store: Store; readonly lease: Lease }> {
  const store = await rig().open();
  const lease = await store.grantLease(TTL_MS, LEASE_CALL);
  expect(await put(store, 'a', lease)).toBe(true);
  return { store, lease };
}

const expired = { code: 'LEASE_EXPIRED', outcome: 'refused' };

describe('a lease', () => {
  it('lives to the last microsecond of its ttl, and not one longer', async () => {
    const { store } = await leased();
    rig().nowUs += TTL_MS * 1e3 - 1;
    expect(textOf(await store.read('a', CALL))).toBe('a');
    rig().nowUs += 1;
    expect(await store.read('a', CALL)).toBeUndefined();
  });

  it('is granted from 250 ms to a day, in whole milliseconds, never shorter than asked within that', async () => {
    const store = await rig().open();
    const granted = async (ttlMs: number): Promise<number> => (await store.grantLease(ttlMs, LEASE_CALL)).ttlMs;
    expect(await Promise.all([1, 249.5, 250, 250.1, 86_400_000, 1e12].map(granted))).toEqual([250, 250, 250, 251, 86_400_000, 86_400_000]);
  });

  it('that has ended is gone for every call at once, before its rows are deleted', async () => {
    const { store, lease } = await leased();
    const other = await rig().open({ host: rig().host({ machine: 'machine one' }) });
    await store.enqueue('q', 'n', bytes(''), lease.id, CALL);
    const { revision = '' } = (await store.read('a', CALL)) ?? {};
    rig().pass(TTL_MS);
    for (const one of [store, other]) {
      expect(await one.read('a', CALL)).toBeUndefined();
      expect(await one.list('q', CALL)).toEqual([]);
    }
    expect(rig().ask(ROWS)).toBe(2);
    const change = { key: 'a', expect: revision, put: bytes('b') };
    expect(await other.compareAndSwap([change], CALL)).toEqual({ swapped: false, failed: [{ index: 0, current: undefined }] });
    await expect(store.enqueue('q', 'n', bytes(''), lease.id, CALL)).rejects.toMatchObject(expired);
    expect(await put(other, 'a', null)).toBe(true);
  });

  it('that is renewed lives for its whole ttl from then on', async () => {
    const { store, lease } = await leased();
    const at = { monotonicMs: 7, wallMs: 8 };
    rig().pass(TTL_MS - 1);
    expect(await store.renewLease(lease.id, { ...CALL, at })).toEqual({ ttlMs: TTL_MS, validFrom: at });
    rig().nowUs += TTL_MS * 1e3 - 1;
    expect(textOf(await store.read('a', CALL))).toBe('a');
    rig().nowUs += 1;
    expect(await store.read('a', CALL)).toBeUndefined();
  });

  it('that has ended is not brought back by a renewal, nor by a swap or an entry, whether its rows were deleted or not', async () => {
    const { store, lease } = await leased();
    rig().pass(TTL_MS);
    await expect(store.renewLease(lease.id, LEASE_CALL)).rejects.toMatchObject(expired);
    expect(rig().ask(ROWS)).toBe(1);
    await expect(put(store, 'b', lease)).rejects.toMatchObject(expired);
    await expect(store.enqueue('q', 'n', bytes(''), lease.id, CALL)).rejects.toMatchObject(expired);
    await store.grantLease(TTL_MS, LEASE_CALL);
    expect(rig().ask(ROWS)).toBe(0);
    await expect(store.renewLease(lease.id, LEASE_CALL)).rejects.toMatchObject(expired);
    expect([await store.read('a', CALL), await store.read('b', CALL)]).toEqual([undefined, undefined]);
  });

  it('that does not exist cannot be renewed; revoking a lease twice is not an error', async () => {
    const { store, lease } = await leased();
    await expect(store.renewLease('no-such-lease', LEASE_CALL)).rejects.toMatchObject(expired);
    await store.revokeLease(lease.id, CALL);
    await store.revokeLease(lease.id, CALL);
    await store.revokeLease('no-such-lease', CALL);
    await expect(store.renewLease(lease.id, LEASE_CALL)).rejects.toMatchObject(expired);
    expect(await store.read('a', CALL)).toBeUndefined();
  });

  it('that ends while an entry is added in its place has ended for the whole transaction, or for none of it', async () => {
    const store = await rig().open();
    const short = await store.grantLease(1_000, LEASE_CALL);
    const long = await store.grantLease(60_000, LEASE_CALL);
    await store.enqueue('q', 'again', bytes(''), short.id, CALL);
    await store.enqueue('q', 'other', bytes(''), long.id, CALL);
    rig().nowUs += 1_000_000 - 10;
    rig().readAdvancesUs = 8;
    const again = await store.enqueue('q', 'again', bytes(''), long.id, CALL).catch(() => undefined);
    rig().readAdvancesUs = 0;
    const last = (await store.list('q', CALL)).at(-1);
    expect([last?.name, last?.order]).toEqual(again === undefined ? ['other', expect.anything()] : ['again', again.order]);
  });

  it('takes no notice of the wall clock, whichever way it is set', async () => {
    const host = readHost();
    const store = await rig().open({ host });
    const lease = await store.grantLease(3_600_000, LEASE_CALL);
    await put(store, 'a', lease);
    vi.useFakeTimers({ toFake: ['Date'] });
    const now = Date.now();
    for (const wallMs of [now + 7_200_000, now - 7_200_000, 0]) {
      vi.setSystemTime(wallMs);
      expect(textOf(await store.read('a', CALL))).toBe('a');
      expect(await store.renewLease(lease.id, LEASE_CALL)).toMatchObject({ ttlMs: 3_600_000 });
      expect(textOf(await (await rig().open({ host: readHost() })).read('a', CALL))).toBe('a');
    }
  });
});

describe.each([
  ['whose boots have names', 'boot one', 'boot two'],
  ['whose boots have none', '', ''],
])('what an earlier boot left on a machine %s', (_, first, second) => {
  async function leave(): Promise<Lease> {
    const store = await rig().open({ host: rig().host({ boot: first }) });
    const lease = await store.grantLease(TTL_MS, LEASE_CALL);
    await put(store, 'a', lease);
    await store.close();
    return lease;
  }

  it('has ended if its end is further away than its ttl, and is deleted', async () => {
    const lease = await leave();
    rig().nowUs -= 1;
    const store = await rig().open({ host: rig().host({ boot: second }) });
    expect([await store.read('a', CALL), rig().ask(ROWS)]).toEqual([undefined, 0]);
    await expect(store.renewLease(lease.id, LEASE_CALL)).rejects.toMatchObject(expired);
    expect(await put(store, 'a', await store.grantLease(TTL_MS, LEASE_CALL))).toBe(true);
  });

  it('may seem alive, if the clocks happen to be close, for its ttl at most', async () => {
    await leave();
    rig().nowUs += 1;
    const store = await rig().open({ host: rig().host({ boot: second }) });
    expect(textOf(await store.read('a', CALL))).toBe('a');
    rig().pass(TTL_MS);
    expect(await store.read('a', CALL)).toBeUndefined();
    expect(await put(store, 'a', null)).toBe(true);
  });

  it('is not shown although its rows were not deleted', async () => {
    const after = await rig().open({ host: rig().host({ boot: second }) });
    await leave();
    rig().nowUs -= 1 + MAX_READ_US;
    expect([await after.read('a', CALL), rig().ask(ROWS)]).toEqual([undefined, 1]);
    expect(await put(after, 'a', null)).toBe(true);
  });

  it('has ended for a writer, even if its end is only just further away than its ttl', async () => {
    const after = await rig().open({ host: rig().host({ boot: second }) });
    await leave();
    rig().nowUs -= 1;
    expect(await put(after, 'a', null)).toBe(true);
  });
});

describe('another container on the same machine', () => {
  it.each([
    ['has another machine id and the same boot', { machine: 'container two' }],
    ['has no machine id', { machine: '' }],
    ['has the same machine id and a boot of its own, by its container manager', { boot: 'made up' }],
    ['may not read which boot it is', { boot: '' }],
    ['knows neither', { machine: '', boot: '' }],
  ])('that %s: both see each other’s leases, and when they end', async (_, identity) => {
    const { store, lease } = await leased();
    const other = await rig().open({ host: rig().host(identity) });
    expect(textOf(await other.read('a', CALL))).toBe('a');
    const theirs = await other.grantLease(TTL_MS, LEASE_CALL);
    await put(other, 'b', theirs);
    expect(await store.renewLease(lease.id, LEASE_CALL)).toMatchObject({ ttlMs: TTL_MS });
    expect(textOf(await store.read('b', CALL))).toBe('b');
    rig().pass(TTL_MS);
    expect([await other.read('a', CALL), await store.read('b', CALL)]).toEqual([undefined, undefined]);
    await rig().open({ host: rig().host(identity) });
    expect(rig().ask(ROWS)).toBe(0);
  });

  it('that is created again after a reboot, with another machine id or none, opens the file that it left', async () => {
    const before = await rig().open({ host: rig().host({ machine: '' }) });
    await put(before, 'a', await before.grantLease(TTL_MS, LEASE_CALL));
    rig().nowUs = 1e6;
    const after = await rig().open({ host: rig().host({ machine: '', boot: 'boot two' }) });
    expect([await after.read('a', CALL), rig().ask(ROWS)]).toEqual([undefined, 0]);
  });
});

describe('another machine', () => {
  const elsewhere = { machine: 'machine two', boot: 'boot of two' };
  const shared = { code: 'SHARED_FILE', outcome: 'refused', details: { machine: 'machine one' } };

  it('is refused at opening, with what to do, and the file is left as it was', async () => {
    const { store } = await leased();
    const opening = rig().open({ host: rig().host(elsewhere) });
    await expect(opening).rejects.toMatchObject(shared);
    await expect(opening).rejects.toThrow(`${rig().file} is in use by another machine (machine one)`);
    await expect(opening).rejects.toThrow('open it once with the option moved: true');
    expect(textOf(await store.read('a', CALL))).toBe('a');
  });

  it('is refused although the leases seem to have ended, because its clock says nothing about them', async () => {
    await leased();
    rig().pass(100 * TTL_MS);
    await expect(rig().open({ host: rig().host(elsewhere) })).rejects.toMatchObject(shared);
  });

  it('that had the file open before is refused a lease, and takes nothing away', async () => {
    const other = await rig().open({ host: rig().host(elsewhere) });
    const { store } = await leased();
    await expect(other.grantLease(TTL_MS, LEASE_CALL)).rejects.toMatchObject(shared);
    expect(textOf(await store.read('a', CALL))).toBe('a');
  });

  it('is refused whichever comes second, so that at most one of them ever leads', async () => {
    const [one, two] = [await rig().open(), await rig().open({ host: rig().host(elsewhere) })];
    await two.grantLease(TTL_MS, LEASE_CALL);
    await expect(one.grantLease(TTL_MS, LEASE_CALL)).rejects.toMatchObject({ ...shared, details: { machine: 'machine two' } });
  });

  it('that says that the file was moved to it clears it, once', async () => {
    const { store, lease } = await leased();
    await put(store, 'term', null);
    const host = rig().host(elsewhere);
    const moved = await rig().open({ host, moved: true });
    expect([await moved.read('a', CALL), textOf(await moved.read('term', CALL))]).toEqual([undefined, 'term']);
    await expect(store.renewLease(lease.id, LEASE_CALL)).rejects.toMatchObject(expired);
    await moved.grantLease(TTL_MS, LEASE_CALL);
    await rig().open({ host });
    await expect(store.grantLease(TTL_MS, LEASE_CALL)).rejects.toMatchObject({ code: 'SHARED_FILE' });
    // The option holds only for this opening: processes on the other machine are refused later.
    await moved.revokeLease(lease.id, CALL);
    await expect(rig().open()).rejects.toMatchObject({ code: 'SHARED_FILE' });
  });

  it('that says so ends no leases of its own machine', async () => {
    const { store, lease } = await leased();
    await rig().open({ moved: true });
    expect(textOf(await store.read('a', CALL))).toBe('a');
    expect(await store.renewLease(lease.id, LEASE_CALL)).toMatchObject({ ttlMs: TTL_MS });
  });

  it('without a boot id is recognized by its machine id', async () => {
    const before = await rig().open({ host: rig().host({ boot: '' }) });
    await before.grantLease(TTL_MS, LEASE_CALL);
    await rig().open({ host: rig().host({ boot: '' }) });
    await expect(rig().open({ host: rig().host({ machine: 'machine two', boot: '' }) })).rejects.toMatchObject(shared);
  });
});

describe('the capability expiresOnExitWithinMs of a store', () => {
  it('is declared if the store can see processes die, and absent otherwise', async () => {
    const seeing = await rig().open({ host: rig().host({ space: 'here' }) });
    const blind = await rig().open();
    expect(ownIdentity()).toBeDefined();
    expect(seeing.capabilities.expiresOnExitWithinMs).toBe(1_250);
    expect(blind.capabilities).not.toHaveProperty('expiresOnExitWithinMs');
    expect([seeing, blind].map(({ capabilities }) => capabilities.expiresWithinMs(TTL_MS))).toEqual([10_250, 10_250]);
  });
});
