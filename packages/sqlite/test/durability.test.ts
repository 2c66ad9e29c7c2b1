/**
 * What a loss of power may undo, and what not: what SQLite itself says at every commit of how it is
 * written.
 */

import { rmSync } from 'node:fs';
import type { Lease, Store } from '@incumbent/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { sqliteError } from './faulty-disk.ts';
import { bytes, CALL, LEASE_CALL, Rig } from './rig.ts';
import { Tap } from './tap.ts';

/** By the numbers of `PRAGMA synchronous`. */
const MODES: ReadonlyMap<unknown, string> = new Map([
  [1, 'NORMAL'],
  [2, 'FULL'],
]);

let rig: Rig;
let tap: Tap;
let store: Store;
let lease: Lease;
/** The mode of every commit so far. */
let commits: (string | undefined)[];

beforeEach(async () => {
  rig = new Rig();
  tap = new Tap();
  commits = [];
  tap.before = (sql, database) => {
    if (sql === 'COMMIT') commits.push(MODES.get(Object.values(database.prepare('PRAGMA synchronous').get() ?? {})[0]));
  };
  store = await rig.open({ connect: tap.connect });
  lease = await store.grantLease(60_000, LEASE_CALL);
  commits = [];
});
afterEach(() => rig[Symbol.dispose]());

async function modeOf(call: Promise<unknown>): Promise<string | undefined> {
  const before = commits.length;
  await call;
  expect(commits.length).toBe(before + 1);
  return commits.at(-1);
}

/** The revision of a key that was put. */
async function put(key: string, bound: string | null): Promise<string> {
  const swap = await store.compareAndSwap([{ key, expect: null, put: bytes(key), lease: bound }], CALL);
  return (swap.swapped ? swap.revisions[0] : undefined) ?? expect.unreachable('not swapped');
}

describe('a commit that survives a loss of power', () => {
  it('is that of a key without a lease: made, changed, deleted, or freed of its lease', async () => {
    expect(await modeOf(put('term', null))).toBe('FULL');
    const { revision = '' } = (await store.read('term', CALL)) ?? {};
    const changed = [{ key: 'term', expect: revision, put: bytes('2') }];
    expect(await modeOf(store.compareAndSwap(changed, CALL))).toBe('FULL');
    const { revision: next = '' } = (await store.read('term', CALL)) ?? {};
    expect(await modeOf(store.compareAndSwap([{ key: 'term', expect: next, delete: true }], CALL))).toBe('FULL');
    const bound = await put('leader', lease.id);
    expect(await modeOf(store.compareAndSwap([{ key: 'leader', expect: bound, put: bytes(''), lease: null }], CALL))).toBe('FULL');
  });

  it('is that of a claim: a key under a lease together with the term', async () => {
    const claim = [
      { key: 'leader', expect: null, put: bytes('me'), lease: lease.id },
      { key: 'term', expect: null, put: bytes('1') },
      { key: 'gone', expect: null },
    ];
    expect(await modeOf(store.compareAndSwap(claim, CALL))).toBe('FULL');
  });

  it('is the one that makes the tables', async () => {
    await rig.open({ file: `${rig.file}.other`, connect: tap.connect });
    expect(commits).toEqual(['FULL', 'NORMAL']);
  });

  it('is that of a move from another machine, which ends leases for good', async () => {
    await rig.open({ connect: tap.connect, host: rig.host({ machine: 'machine two', boot: 'two' }), moved: true });
    expect(commits).toEqual(['FULL']);
  });

  it('is synced after any number of commits that are not, and after the file was opened again', async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      expect(await modeOf(store.renewLease(lease.id, LEASE_CALL))).toBe('NORMAL');
      expect(await modeOf(put(`a${turn}`, null))).toBe('FULL');
    }
    await modeOf(store.renewLease(lease.id, LEASE_CALL));
    for (const file of rig.files) rmSync(file);
    commits = [];
    await store.grantLease(60_000, LEASE_CALL);
    await put('b', null);
    // The tables are made first.
    expect(commits).toEqual(['FULL', 'NORMAL', 'FULL']);
  });

  it.each(['FULL', 'NORMAL'])('is synced although the change to %s failed before', async (mode) => {
    const planted = `PRAGMA synchronous = ${mode}`;
    const observe = tap.before;
    await store.renewLease(lease.id, LEASE_CALL);
    if (mode === 'NORMAL') await put('a', null);
    tap.before = (sql, database) => {
      observe(sql, database);
      if (sql === planted) throw sqliteError(10);
    };
    const failing = mode === 'FULL' ? put('b', null) : store.renewLease(lease.id, LEASE_CALL);
    await expect(failing).rejects.toMatchObject({ outcome: 'notSent' });
    tap.before = observe;
    expect(await modeOf(put('b', null))).toBe('FULL');
    expect(await modeOf(store.renewLease(lease.id, LEASE_CALL))).toBe('NORMAL');
  });
});

describe('a commit that a loss of power may undo, because it ends all leases', () => {
  it('is that of a lease, a renewal, an entry, a key under a lease, a check, a revocation', async () => {
    const granted = store.grantLease(60_000, LEASE_CALL);
    expect(await modeOf(granted)).toBe('NORMAL');
    expect(await modeOf(store.renewLease(lease.id, LEASE_CALL))).toBe('NORMAL');
    expect(await modeOf(store.enqueue('q', 'n', bytes(''), lease.id, CALL))).toBe('NORMAL');
    expect(await modeOf(put('leader', lease.id))).toBe('NORMAL');
    expect(await modeOf(store.compareAndSwap([{ key: 'none', expect: null }], CALL))).toBe('NORMAL');
    expect(await modeOf(store.revokeLease((await granted).id, CALL))).toBe('NORMAL');
  });

  it('is that of a deletion of ended leases', async () => {
    rig.pass(60_000);
    await rig.open({ connect: tap.connect });
    expect(commits).toEqual(['NORMAL']);
    expect(rig.ask('SELECT count(*) FROM leases')).toBe(0);
  });
});

it('is synced with the full force of the system, where that is more than usual', () => {
  expect(tap.count('PRAGMA fullfsync = ON')).toBe(1);
});
