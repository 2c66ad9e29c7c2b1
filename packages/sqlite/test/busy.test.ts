/**
 * Another process keeps the file locked: here, another connection. Time passes when a test says so.
 */

import type { DatabaseSync } from 'node:sqlite';
import type { Entry, Store } from '@incumbent/core';
import { Recorder } from '@incumbent/test-support/recorder';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { pass, stopTime, turns } from './manual-time.ts';
import { bytes, CALL, LEASE_CALL, Rig, textOf } from './rig.ts';
import { Tap } from './tap.ts';

let rig: Rig;
let store: Store;
let other: DatabaseSync;

beforeEach(async () => {
  stopTime();
  rig = new Rig();
  store = await rig.open();
  other = rig.raw();
});
afterEach(() => {
  vi.useRealTimers();
  rig[Symbol.dispose]();
});

function put(key: string, options: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined } = CALL): Promise<unknown> {
  return store.compareAndSwap([{ key, expect: null, put: bytes(key) }], options);
}

/** How a call stands, without waiting for it. */
function follow(call: Promise<unknown>): { state: unknown } {
  const followed: { state: unknown } = { state: 'waiting' };
  call.then(
    () => (followed.state = 'done'),
    (error: unknown) => (followed.state = error),
  );
  return followed;
}

describe('a call on a file that another process has locked', () => {
  beforeEach(() => other.exec('BEGIN IMMEDIATE'));

  it('waits without blocking this process, and succeeds when the file is free', async () => {
    const call = follow(put('a'));
    // A thousand turns of this process's event loop.
    await pass(500);
    expect(call.state).toBe('waiting');
    other.exec('COMMIT');
    await pass(10);
    expect(call.state).toBe('done');
    expect(textOf(await store.read('a', CALL))).toBe('a');
  });

  it('never waits inside SQLite, which would keep the whole process waiting', async () => {
    other.exec('COMMIT');
    const tap = new Tap();
    const waits: unknown[] = [];
    tap.before = (sql, database) => {
      if (sql === 'BEGIN IMMEDIATE') waits.push(Object.values(database.prepare('PRAGMA busy_timeout').get() ?? {})[0]);
    };
    await (await rig.open({ connect: tap.connect })).grantLease(1_000, LEASE_CALL);
    expect(waits).toEqual([0, 0]);
  });

  it('is tried again within a few milliseconds, and not in a busy loop', async () => {
    let tries = 0;
    const counted = await openCounting(() => (tries += 1));
    tries = 0;
    const call = follow(counted.compareAndSwap([{ key: 'a', expect: null, put: bytes('') }], { timeoutMs: 10_000 }));
    await pass(1_000);
    expect(call.state).toBe('waiting');
    expect(tries).toBeGreaterThan(1_000 / 7);
    expect(tries).toBeLessThanOrEqual(1_000);
  });

  /** Another store, which reports when it begins a transaction. */
  async function openCounting(onBegin: () => void): Promise<Store> {
    other.exec('COMMIT');
    const tap = new Tap();
    tap.before = (sql) => {
      if (sql === 'BEGIN IMMEDIATE') onBegin();
    };
    const opened = await rig.open({ connect: tap.connect });
    other.exec('BEGIN IMMEDIATE');
    return opened;
  }

  it('ends at its timeout as notSent, with a probable cause', async () => {
    const call = follow(put('a', { timeoutMs: 1_000 }));
    await pass(999);
    expect(call.state).toBe('waiting');
    await pass(10);
    expect(call.state).toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent', cause: { errcode: 5 }, details: { file: rig.file } });
    expect(String(call.state)).toMatch(
      /was locked by other processes for 1\d{3} ms\. A process that is stopped inside a transaction keeps the lock/,
    );
    other.exec('COMMIT');
    await pass(2_000);
    expect(await store.read('a', CALL)).toBeUndefined();
  });

  it('ends at its timeout although it takes two steps, each of which waits', async () => {
    other.exec('COMMIT');
    const tap = new Tap();
    const opened = await rig.open({ connect: tap.connect });
    let isBusy = true;
    tap.before = (sql) => {
      if (isBusy && sql.includes('FROM leases WHERE space')) throw Object.assign(new Error('database is locked'), { errcode: 5 });
    };
    other.exec('BEGIN IMMEDIATE');
    const call = follow(opened.grantLease(1_000, { ...LEASE_CALL, timeoutMs: 1_000 }));
    await pass(800);
    isBusy = false;
    await pass(150);
    expect(call.state).toBe('waiting');
    await pass(100);
    expect(call.state).toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent' });
    other.exec('COMMIT');
  });

  it('of every kind that writes waits; those that read do not', async () => {
    const writes = [
      put('a'),
      store.grantLease(1_000, LEASE_CALL),
      store.renewLease('none', LEASE_CALL),
      store.revokeLease('none', CALL),
      store.enqueue('q', 'n', bytes(''), 'none', CALL),
    ].map(follow);
    expect(await store.read('a', CALL)).toBeUndefined();
    expect(await store.list('q', CALL)).toEqual([]);
    await pass(100);
    expect(writes.map(({ state }) => state)).toEqual(Array.from(writes, () => 'waiting'));
    other.exec('COMMIT');
    await pass(20);
    const codes = writes.map(({ state }) => (state === 'done' ? state : (state as { readonly code: string }).code));
    expect(codes).toEqual(['done', 'done', 'LEASE_EXPIRED', 'done', 'LEASE_EXPIRED']);
  });

  it('that is aborted ends at once with the reason, and is never done', async () => {
    const abort = new AbortController();
    const call = follow(put('a', { timeoutMs: 60_000, signal: abort.signal }));
    await pass(100);
    abort.abort(new Error('enough'));
    await turns(10);
    expect(call.state).toEqual(new Error('enough'));
    other.exec('COMMIT');
    await pass(100);
    expect(await store.read('a', CALL)).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('that is aborted before it began is never done, and leaves no timer', async () => {
    other.exec('COMMIT');
    const aborted = AbortSignal.abort(new Error('before'));
    await expect(put('a', { ...CALL, signal: aborted })).rejects.toThrow('before');
    const abort = new AbortController();
    const call = put('a', { ...CALL, signal: abort.signal });
    abort.abort(new Error('in the same breath'));
    await expect(call).rejects.toThrow('in the same breath');
    expect(await store.read('a', CALL)).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ends at once as notSent when its store is closed', async () => {
    const calls = [put('a', { timeoutMs: 60_000 }), store.grantLease(1_000, { ...LEASE_CALL, timeoutMs: 60_000 })].map(follow);
    await pass(100);
    await store.close();
    await turns(10);
    for (const { state } of calls) expect(state).toMatchObject({ code: 'STORE_CLOSED', outcome: 'notSent' });
    expect(vi.getTimerCount()).toBe(0);
    other.exec('COMMIT');
    expect(rig.ask('SELECT (SELECT count(*) FROM keys) + (SELECT count(*) FROM leases)')).toBe(0);
  });

  it('that opens a store waits until its timeout too, and leaves no connection', async () => {
    const tap = new Tap();
    const opening = follow(rig.open({ connect: tap.connect, connectTimeoutMs: 300 }));
    await pass(250);
    expect(opening.state).toBe('waiting');
    await pass(60);
    expect(opening.state).toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent' });
    expect(tap.open).toBe(0);
    const next = follow(rig.open({ connectTimeoutMs: 300 }));
    await pass(100);
    other.exec('COMMIT');
    await pass(10);
    expect(next.state).toBe('done');
  });
});

describe('calls of one process', () => {
  /** Each transaction takes 3 ms: two of them are more than a turn of the event loop is given. */
  beforeEach(async () => {
    const tap = new Tap();
    tap.before = (sql) => void (sql === 'COMMIT' && vi.advanceTimersByTime(3));
    store = await rig.open({ connect: tap.connect });
  });

  it('are done in the order in which they were made, a few in each turn of the event loop, while timers run', async () => {
    const order: string[] = [];
    const calls = Array.from({ length: 20 }, (_, index) => put(`k${index}`).then(() => order.push(`k${index}`)));
    await turns(4);
    expect(order.length).toBeGreaterThan(0);
    expect(order.length).toBeLessThanOrEqual(10);
    await turns(40);
    await Promise.all(calls);
    expect(order).toEqual(Array.from({ length: 20 }, (_, index) => `k${index}`));
  });

  it('that wait behind others end at their timeout as notSent, with the cause', async () => {
    const calls = Array.from({ length: 50 }, (_, index) => follow(put(`k${index}`, { timeoutMs: 5 })));
    await turns(5);
    vi.advanceTimersByTime(5);
    await turns(100);
    const done = calls.filter(({ state }) => state === 'done').length;
    expect(done).toBeGreaterThan(0);
    expect(done).toBeLessThan(50);
    expect(calls.at(-1)?.state).toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent', details: { file: rig.file } });
    expect(String(calls.at(-1)?.state)).toContain('earlier calls of this process took the 5 ms that this call had');
    expect(rig.ask('SELECT count(*) FROM keys')).toBe(done);
  });

  it('do not keep a renewal waiting', async () => {
    const lease = await store.grantLease(1_000, LEASE_CALL);
    const calls = Array.from({ length: 50 }, (_, index) => follow(put(`k${index}`)));
    const renewal = follow(store.renewLease(lease.id, LEASE_CALL));
    await turns(3);
    expect([renewal.state, calls.at(-1)?.state]).toEqual(['done', 'waiting']);
    await turns(100);
    expect(calls.at(-1)?.state).toBe('done');
  });

  it('that were aborted leave their place to the next', async () => {
    const abort = new AbortController();
    const aborted = Array.from({ length: 50 }, (_, index) => follow(put(`k${index}`, { ...CALL, signal: abort.signal })));
    const last = follow(put('last'));
    abort.abort(new Error('enough'));
    await turns(5);
    expect(last.state).toBe('done');
    expect(aborted.map(({ state }) => String(state))).toEqual(Array.from(aborted, () => 'Error: enough'));
    expect(rig.ask('SELECT count(*) FROM keys')).toBe(1);
  });
});

describe('a lock that comes and goes', () => {
  it('never reaches a caller: all calls succeed in the end, and no watch goes stale', async () => {
    const watch = new Recorder<Entry | undefined>((options) => store.watch('k19', options));
    const calls = Array.from({ length: 20 }, (_, index) => follow(put(`k${index}`, { timeoutMs: 5_000 })));
    for (let round = 0; round < 100 && calls.some(({ state }) => state === 'waiting'); round += 1) {
      other.exec('BEGIN IMMEDIATE');
      await pass(19);
      other.exec('COMMIT');
      await pass(1);
    }
    expect(calls.map(({ state }) => state)).toEqual(Array.from(calls, () => 'done'));
    await pass(200);
    expect(textOf(watch.latest)).toBe('k19');
    expect(watch.stale).toEqual([]);
    await watch.stop();
  });

  it('does not make a watch stale, however long it lasts, while the file can be read', async () => {
    await put('a');
    const watch = new Recorder<Entry | undefined>((options) => store.watch('a', options));
    other.exec('BEGIN IMMEDIATE');
    await pass(5_000);
    expect([textOf(watch.latest), watch.stale]).toEqual(['a', []]);
    await watch.stop();
  });

  it('does not keep a lease alive: its end is shown, although its rows cannot be deleted', async () => {
    const lease = await store.grantLease(1_000, LEASE_CALL);
    await store.compareAndSwap([{ key: 'a', expect: null, put: bytes('a'), lease: lease.id }], CALL);
    const watch = new Recorder<Entry | undefined>((options) => store.watch('a', options));
    await pass(200);
    expect(textOf(watch.latest)).toBe('a');
    other.exec('BEGIN IMMEDIATE');
    rig.pass(1_000);
    await pass(200);
    expect([watch.latest, watch.states.length, watch.stale]).toEqual([undefined, 2, []]);
    other.exec('COMMIT');
    expect(rig.ask('SELECT count(*) FROM keys')).toBe(1);
    await watch.stop();
  });
});
