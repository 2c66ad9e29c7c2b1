/** What SQLite's errors become, before a commit and at one, as callers of a store see it. */

import { mkdirSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

import type { Lease, Store } from '@incumbent/core';
import { Recorder } from '@incumbent/test-support/recorder';
import { describe, expect, it } from 'vitest';

import { FaultyDisk, sqliteError } from './faulty-disk.ts';
import { pass, stopTime } from './manual-time.ts';
import { bytes, CALL, LEASE_CALL, textOf, useRig } from './rig.ts';
import { Tap } from './tap.ts';

interface CallError {
  readonly code: string;
  readonly outcome: string;
  readonly message: string;
  readonly cause: unknown;
  readonly details: unknown;
}

async function errorOf(call: Promise<unknown>): Promise<CallError> {
  const error: unknown = await call.then(
    () => expect.unreachable('the call succeeded'),
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ name: 'StoreError' });
  return error as CallError;
}

const NATIVE: readonly [name: string, errcode: number, verdict: string, message: string][] = [
  ['SQLITE_ERROR', 1, 'STORE_FAILED refused', 'planted'],
  ['SQLITE_PERM', 3, 'PERMISSION_DENIED refused', 'it cannot be written: planted'],
  ['SQLITE_NOMEM', 7, 'STORE_FAILED refused', 'planted'],
  ['SQLITE_READONLY', 8, 'PERMISSION_DENIED refused', 'it cannot be written: planted'],
  ['SQLITE_READONLY_DBMOVED', 1032, 'PERMISSION_DENIED refused', 'it cannot be written: planted'],
  ['SQLITE_READONLY_DIRECTORY', 1544, 'PERMISSION_DENIED refused', 'it cannot be written: planted'],
  ['SQLITE_IOERR', 10, 'STORE_FAILED notSent', 'the disk failed: planted'],
  ['SQLITE_IOERR_READ', 266, 'STORE_FAILED notSent', 'the disk failed: planted'],
  ['SQLITE_IOERR_WRITE', 778, 'STORE_FAILED notSent', 'the disk failed: planted'],
  ['SQLITE_CORRUPT', 11, 'CORRUPT refused', 'it is damaged: restore it, or remove it and its -wal and -shm'],
  ['SQLITE_CORRUPT_INDEX', 779, 'CORRUPT refused', 'set minTerm'],
  ['SQLITE_FULL', 13, 'UNAVAILABLE notSent', 'the disk is full'],
  ['SQLITE_CANTOPEN', 14, 'UNREACHABLE notSent', 'it cannot be opened'],
  ['SQLITE_SCHEMA', 17, 'STORE_FAILED refused', 'planted'],
  ['SQLITE_TOOBIG', 18, 'TOO_LARGE refused', 'planted'],
  ['SQLITE_AUTH', 23, 'PERMISSION_DENIED refused', 'it cannot be written: planted'],
  ['SQLITE_NOTADB', 26, 'UNSUPPORTED refused', 'it is not a SQLite database'],
];
const BUSY: readonly [name: string, errcode: number][] = [
  ['SQLITE_BUSY', 5],
  ['SQLITE_LOCKED', 6],
  ['SQLITE_PROTOCOL', 15],
  ['SQLITE_BUSY_RECOVERY', 261],
  ['SQLITE_LOCKED_SHAREDCACHE', 262],
  ['SQLITE_BUSY_SNAPSHOT', 517],
];

const rig = useRig();

/** Every call that a store has, on the key `a` and this lease. */
function callsOf(store: Store, lease: Lease): readonly (() => Promise<unknown>)[] {
  return [
    () => store.read('a', CALL),
    () => store.list('p', CALL),
    () => store.compareAndSwap([{ key: 'a', expect: null, put: bytes('mine') }], CALL),
    () => store.enqueue('p', 'n', bytes(''), lease.id, CALL),
    () => store.grantLease(1_000, LEASE_CALL),
    () => store.renewLease(lease.id, LEASE_CALL),
    () => store.revokeLease(lease.id, CALL),
  ];
}

describe('an error before the commit', () => {
  it.each(NATIVE)('%s (%i): %s', async (_, errcode, verdict, message) => {
    const disk = new FaultyDisk();
    const store = await rig().open({ connect: (path) => disk.connect(path) });
    const lease = await store.grantLease(1_000, LEASE_CALL);
    disk.fail(errcode);
    for (const call of callsOf(store, lease)) {
      const error = await errorOf(call());
      expect(`${error.code} ${error.outcome}`).toBe(verdict);
      expect(error.message).toContain(`sqlite: ${rig().file}: `);
      expect(error.message).toContain(message);
      expect(error).toMatchObject({ cause: { errcode }, details: { file: rig().file } });
    }
    disk.heal();
    expect(await store.read('a', CALL)).toBeUndefined();
    expect(await store.renewLease(lease.id, LEASE_CALL)).toMatchObject({ ttlMs: 1_000 });
  });

  it.each(BUSY)('%s (%i) is waited for, and then UNAVAILABLE notSent', async (_, errcode) => {
    stopTime();
    const disk = new FaultyDisk();
    const store = await rig().open({ connect: (path) => disk.connect(path) });
    disk.fail(errcode);
    const failing = errorOf(store.read('a', { timeoutMs: 100 }));
    await pass(110);
    const error = await failing;
    expect(error).toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent', cause: { errcode } });
    expect(error.message).toContain('was locked by other processes');
    const waiting = store.read('a', CALL);
    await pass(100);
    disk.heal();
    await pass(10);
    expect(await waiting).toBeUndefined();
  });

  it('of an unknown kind keeps the original error', async () => {
    const tap = new Tap();
    const store = await rig().open({ connect: tap.connect });
    const cause = new TypeError('oops');
    tap.before = () => {
      throw cause;
    };
    expect(await errorOf(store.read('a', CALL))).toMatchObject({ code: 'STORE_FAILED', outcome: 'refused', cause });
  });

  it('inside a transaction undoes the whole transaction, and the next one succeeds', async () => {
    const tap = new Tap();
    const store = await rig().open({ connect: tap.connect });
    const changes = ['a', 'b'].map((key) => ({ key, expect: null, put: bytes('mine') }));
    let puts = 0;
    tap.before = (sql) => {
      if (sql.startsWith('INSERT INTO keys') && ++puts === 2) throw sqliteError(778);
    };
    expect(await errorOf(store.compareAndSwap(changes, CALL))).toMatchObject({ code: 'STORE_FAILED', outcome: 'notSent' });
    expect(puts).toBe(2);
    expect(tap.steps.at(-1)).toBe('ROLLBACK');
    expect(await store.read('a', CALL)).toBeUndefined();
    expect(await store.compareAndSwap(changes, CALL)).toMatchObject({ swapped: true });
  });

  it('after which SQLite has rolled back by itself is reported unchanged', async () => {
    const tap = new Tap();
    const store = await rig().open({ connect: tap.connect });
    tap.before = (sql, database) => {
      if (!sql.startsWith('INSERT INTO keys')) return;
      database.exec('ROLLBACK');
      throw sqliteError(10);
    };
    const swap = store.compareAndSwap([{ key: 'a', expect: null, put: bytes('mine') }], CALL);
    expect(await errorOf(swap)).toMatchObject({ code: 'STORE_FAILED', outcome: 'notSent', cause: { errcode: 10 } });
    tap.before = () => {};
    expect(await store.read('a', CALL)).toBeUndefined();
    expect(tap.open).toBe(1);
  });
});

describe('a folder that cannot be reached', () => {
  it('while the store is open makes calls fail as UNREACHABLE notSent, until it is back', async () => {
    const folder = join(rig().folder, 'data');
    const aside = join(rig().folder, 'aside');
    mkdirSync(folder);
    const file = join(folder, 'state.db');
    const store = await rig().open({ file });
    await store.compareAndSwap([{ key: 'a', expect: null, put: bytes('1') }], CALL);
    renameSync(folder, aside);
    // A link to itself: the system refuses to follow it.
    symlinkSync(folder, folder);
    for (const call of [store.read('a', CALL), store.grantLease(1_000, LEASE_CALL)]) {
      await expect(call).rejects.toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent', cause: { code: 'ELOOP' } });
      await expect(call).rejects.toThrow(`sqlite: ${file} cannot be reached`);
    }
    unlinkSync(folder);
    renameSync(aside, folder);
    expect(textOf(await store.read('a', CALL))).toBe('1');
  });
});

describe('an error at the rollback', () => {
  it('does not leave the file locked for other processes', async () => {
    const tap = new Tap();
    const store = await rig().open({ connect: tap.connect });
    const other = await rig().open();
    let hasFailed = false;
    tap.before = (sql) => {
      if (sql !== 'ROLLBACK' || hasFailed) return;
      hasFailed = true;
      throw sqliteError(7);
    };
    // The missing lease makes the transaction roll back.
    expect(await errorOf(store.enqueue('q', 'n', bytes(''), 'no-such-lease', CALL))).toMatchObject({ code: 'LEASE_EXPIRED' });
    expect(hasFailed).toBe(true);
    await expect(other.grantLease(1_000, LEASE_CALL)).resolves.toBeDefined();
  });
});

describe('an error at the commit', () => {
  const put = (store: Store): Promise<unknown> => store.compareAndSwap([{ key: 'a', expect: null, put: bytes('mine') }], CALL);

  it.each([
    ...NATIVE.filter(([name]) => name !== 'SQLITE_FULL').map(([name, errcode, verdict]) => [name, errcode, verdict.split(' ')[0]] as const),
    ['SQLITE_IOERR_FSYNC', 1034, 'STORE_FAILED'] as const,
  ])('%s (%i) after the commit was done: %s unknown, and the change is in the file', async (_, errcode, code) => {
    const disk = new FaultyDisk();
    const store = await rig().open({ connect: (path) => disk.connect(path) });
    disk.failNextCommit(errcode);
    expect(await errorOf(put(store))).toMatchObject({ code, outcome: 'unknown', cause: { errcode }, details: { file: rig().file } });
    expect(textOf(await store.read('a', CALL))).toBe('mine');
    expect(textOf(await (await rig().open()).read('a', CALL))).toBe('mine');
  });

  it('that SQLite has done is shown by the watches of the same store', async () => {
    stopTime();
    const disk = new FaultyDisk();
    const store = await rig().open({ connect: (path) => disk.connect(path) });
    const watch = new Recorder((options) => store.watch('a', options));
    await pass(10);
    disk.failNextCommit();
    expect(await errorOf(put(store))).toMatchObject({ outcome: 'unknown' });
    await pass(20);
    expect(watch.states.map(textOf)).toEqual([undefined, 'mine']);
    await watch.stop();
  });

  it('of a lease, an entry, a renewal or a revocation is unknown as well', async () => {
    const disk = new FaultyDisk();
    const store = await rig().open({ connect: (path) => disk.connect(path) });
    const lease = await store.grantLease(1_000, LEASE_CALL);
    for (const call of callsOf(store, lease).slice(2)) {
      disk.failNextCommit();
      expect(await errorOf(call())).toMatchObject({ code: 'STORE_FAILED', outcome: 'unknown' });
    }
    expect(rig().ask('SELECT count(*) FROM leases')).toBe(1);
    expect(await store.list('p', CALL)).toEqual([]);
    expect(await errorOf(store.renewLease(lease.id, LEASE_CALL))).toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
  });

  /** A store whose commits fail with this code of SQLite until `tap.before` is set again. */
  async function openWithoutCommit(code: number) {
    const tap = new Tap();
    const store = await rig().open({ connect: tap.connect });
    tap.before = (sql) => {
      if (sql === 'COMMIT') throw sqliteError(code);
    };
    return { tap, store };
  }

  it('that SQLite has not done is unknown as well, because a reader after a crash might find it; it is rolled back', async () => {
    const { tap, store } = await openWithoutCommit(1034);
    expect(await errorOf(put(store))).toMatchObject({ code: 'STORE_FAILED', outcome: 'unknown' });
    tap.before = () => {};
    expect(await store.read('a', CALL)).toBeUndefined();
    await put(store);
    expect(textOf(await store.read('a', CALL))).toBe('mine');
  });

  it('for lack of space changes nothing, and is notSent', async () => {
    const { tap, store } = await openWithoutCommit(13);
    expect(await errorOf(put(store))).toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent' });
    tap.before = () => {};
    expect(await store.read('a', CALL)).toBeUndefined();
  });

  it('because others have locked the file is tried again, and applied once', async () => {
    const tap = new Tap();
    const store = await rig().open({ connect: tap.connect });
    const before = Number(rig().ask('SELECT revision FROM store'));
    let refusals = 0;
    tap.before = (sql) => {
      if (sql === 'COMMIT' && ++refusals <= 3) throw sqliteError(5);
    };
    await put(store);
    expect(refusals).toBe(4);
    expect(textOf(await store.read('a', CALL))).toBe('mine');
    expect(rig().ask('SELECT revision FROM store')).toBe(before + 1);
  });
});

describe('a file that cannot grow', () => {
  /** SQLite's own limit: beyond it, it says that the disk is full, and means it. */
  function limited(tap: Tap): void {
    tap.after = (sql, database) => {
      if (sql.includes('PRAGMA synchronous = FULL; ')) database.exec('PRAGMA max_page_count = 20');
    };
  }

  it('refuses a write without space, changes nothing, and serves all other calls', async () => {
    const tap = new Tap();
    limited(tap);
    const store = await rig().open({ connect: tap.connect });
    const lease = await store.grantLease(1_000, LEASE_CALL);
    await store.compareAndSwap([{ key: 'a', expect: null, put: bytes('small'), lease: lease.id }], CALL);
    const large = [
      { key: 'b', expect: null, put: bytes('b') },
      { key: 'c', expect: null, put: new Uint8Array(200_000) },
    ];
    const error = await errorOf(store.compareAndSwap(large, CALL));
    expect(error).toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent', cause: { errcode: 13 } });
    expect(error.message).toBe(`sqlite: ${rig().file}: the disk is full`);
    expect(await store.read('b', CALL)).toBeUndefined();
    expect(textOf(await store.read('a', CALL))).toBe('small');
    expect(await store.renewLease(lease.id, LEASE_CALL)).toMatchObject({ ttlMs: 1_000 });
    const queued = await errorOf(store.enqueue('p', 'n', new Uint8Array(200_000), lease.id, CALL));
    expect(queued).toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent' });
    await store.revokeLease(lease.id, CALL);
    expect(await store.read('a', CALL)).toBeUndefined();
  });

  it('accepts writes again when something was deleted', async () => {
    const tap = new Tap();
    limited(tap);
    const store = await rig().open({ connect: tap.connect });
    const first = await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array(30_000) }], CALL);
    const second = [{ key: 'b', expect: null, put: new Uint8Array(30_000) }];
    expect(await errorOf(store.compareAndSwap(second, CALL))).toMatchObject({ code: 'UNAVAILABLE' });
    const revision = (first.swapped ? first.revisions[0] : undefined) ?? expect.unreachable('not swapped');
    await store.compareAndSwap([{ key: 'a', expect: revision, delete: true }], CALL);
    expect(await store.compareAndSwap(second, CALL)).toMatchObject({ swapped: true });
  });

  it('too small for the tables is reported as a full disk at opening', async () => {
    const tap = new Tap();
    tap.after = (sql, database) => {
      if (sql.includes('PRAGMA synchronous = FULL; ')) database.exec('PRAGMA max_page_count = 2');
    };
    const error = await errorOf(rig().open({ connect: tap.connect }));
    expect(error).toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent', cause: { errcode: 13 } });
    expect(tap.open).toBe(0);
    expect(await (await rig().open()).read('a', CALL)).toBeUndefined();
  });
});

describe('an error while the tables are made', () => {
  it.each([
    ['with the transaction rolled back by SQLite itself', true],
    ['with the transaction still open', false],
  ])('is reported unchanged, %s; the next opening creates the tables', async (_, rolledBack) => {
    const tap = new Tap();
    tap.before = (sql, database) => {
      if (!sql.includes('CREATE TABLE')) return;
      if (rolledBack) database.exec('ROLLBACK');
      throw sqliteError(778);
    };
    const error = await errorOf(rig().open({ connect: tap.connect }));
    expect(error).toMatchObject({ code: 'STORE_FAILED', outcome: 'notSent', cause: { errcode: 778 } });
    expect(tap.open).toBe(0);
    expect(await (await rig().open()).read('a', CALL)).toBeUndefined();
  });
});
