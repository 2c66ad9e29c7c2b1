/** Renewals by other processes during a read. Keys of a renewed lease are never shown as absent. */

import type { Lease } from '@incumbent/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { pass } from './manual-time.ts';
import { Pair, put } from './pair.ts';
import { CALL, LEASE_CALL, textOf } from './rig.ts';

const TTL_MS = 10_000;
const RENEW = 'UPDATE leases SET ends_at_us = ? + ttl_us';

let pair: Pair;
let lease: Lease;
beforeEach(async () => {
  pair = await Pair.open();
  lease = await pair.other.grantLease(TTL_MS, LEASE_CALL);
  await put(pair.other, 'q/a', '1', lease.id);
});
afterEach(async () => {
  await pair[Symbol.asyncDispose]();
});

/**
 * Once, right before the store reads keys, lets time pass and renews all leases as another process
 * would.
 */
function renewDuringRead(afterMs: number): () => boolean {
  const raw = pair.rig.raw();
  let isDone = false;
  pair.tap.before = (sql) => {
    if (isDone || !/ FROM keys k /.test(sql)) return;
    isDone = true;
    pair.rig.pass(afterMs);
    raw.prepare(RENEW).run(pair.rig.nowUs);
  };
  return () => isDone;
}

/** How late a busy or stopped process reads the file. */
describe.each([1, 100, 5_000])(
  'a lease that is renewed %i ms after a reader has read the clock, and before it reads the file',
  (afterMs) => {
    it('is alive for a read', async () => {
      const isDone = renewDuringRead(afterMs);
      const reading = pair.store.read('q/a', CALL);
      await pass(20);
      expect(textOf(await reading)).toBe('1');
      expect(isDone()).toBe(true);
    });

    it('is alive for a list', async () => {
      const isDone = renewDuringRead(afterMs);
      const listing = pair.store.list('q', CALL);
      await pass(20);
      expect((await listing).map(textOf)).toEqual(['1']);
      expect(isDone()).toBe(true);
    });

    it('is alive for a watch of a list that changes', async () => {
      const list = await pair.watchList('q');
      const isDone = renewDuringRead(afterMs);
      await put(pair.other, 'q/b', '2');
      await pass(200);
      expect(isDone()).toBe(true);
      expect(list.latest?.map(textOf)).toEqual(['1', '2']);
    });

    it('is alive for a new watch', async () => {
      const isDone = renewDuringRead(afterMs);
      const key = pair.follow((options) => pair.store.watch('q/a', options));
      const list = pair.follow((options) => pair.store.watchList('q', options));
      await pass(200);
      expect([isDone(), textOf(key.latest), list.latest?.map(textOf)]).toEqual([true, '1', ['1']]);
    });
  },
);

it('a read that is too slow again and again ends at its timeout', async () => {
  pair.tap.before = (sql) => {
    if (sql.includes(' FROM keys k ')) pair.rig.pass(5_000);
  };
  const failure = pair.store.read('q/a', { timeoutMs: 1_000 }).catch((error: unknown) => error);
  await pass(1_100);
  expect(await failure).toMatchObject({
    code: 'UNAVAILABLE',
    outcome: 'notSent',
    message: expect.stringContaining('took longer than a second'),
  });
});

it('a renewal that is committed after the lease has ended is shown by watches that have shown the end', async () => {
  const [key, list] = [await pair.watch('q/a'), await pair.watchList('q')];
  const raw = pair.rig.raw();
  raw.exec('BEGIN IMMEDIATE');
  raw.prepare(RENEW).run(pair.rig.nowUs + TTL_MS * 1e3 - 1);
  pair.rig.pass(TTL_MS);
  await pass(200);
  expect([key.latest, list.latest]).toEqual([undefined, []]);
  raw.exec('COMMIT');
  await pass(200);
  expect([textOf(key.latest), list.latest?.map(textOf)]).toEqual(['1', ['1']]);
});

it('such a renewal in the poll in which another lease ends changes the list', async () => {
  const { rig, other, store } = pair;
  const a = await other.grantLease(1_500, LEASE_CALL);
  const b = await other.grantLease(1_000, LEASE_CALL);
  await put(other, 'q/b', 'b', b.id);
  await put(other, 'q/c', 'c', a.id);
  await put(other, 'q/d', 'd');
  const list = await pair.watchList('q');
  const shown = (): string | undefined =>
    list.states
      .at(-1)
      ?.map(({ name }) => name)
      .join();
  // The owner of b renews it a moment before its end, and is stopped before the commit.
  rig.pass(999);
  const raw = rig.raw();
  raw.exec('BEGIN IMMEDIATE');
  raw.prepare('UPDATE leases SET ends_at_us = ? + ttl_us WHERE id = ?').run(rig.nowUs, b.id);
  rig.pass(2);
  await pass(30);
  expect(shown()).toBe('a,c,d');
  rig.pass(499);
  raw.exec('COMMIT');
  await pass(500);
  expect((await store.list('q', CALL)).map(({ name }) => name).join()).toBe(shown());
});

it('a renewal while a process is stopped during a read does not make a watch show the key as absent', async () => {
  const raw = pair.rig.raw();
  const watch = await pair.watch('q/a');
  let isStopped = false;
  pair.tap.before = (sql) => {
    if (isStopped || !/WITH changed/.test(sql)) return;
    isStopped = true;
    pair.rig.pass(2_000);
    raw.prepare(RENEW).run(pair.rig.nowUs);
  };
  const current = await pair.other.read('q/a', CALL);
  await pair.other.compareAndSwap([{ key: 'q/a', expect: current?.revision ?? '', put: new TextEncoder().encode('2') }], CALL);
  await pass(300);
  expect([isStopped, watch.states.map((state) => textOf(state))]).toEqual([true, ['1', '2']]);
});

it('a change that was read by a poll that failed is shown by the next poll', async () => {
  const watches = await Promise.all(['q/a', 'q/b'].map((key) => pair.watch(key)));
  const list = await pair.watchList('q');
  let failures = 0;
  pair.tap.before = (sql) => {
    // The key was compared by then, the list is about to be.
    if (failures > 0 || !/count\(\*\)/.test(sql)) return;
    failures += 1;
    throw Object.assign(new Error('database is locked'), { code: 'ERR_SQLITE_ERROR', errcode: 5 });
  };
  await put(pair.other, 'q/b', '2');
  await pass(2_000);
  expect([failures, watches.map(({ states }) => textOf(states.at(-1)))]).toEqual([1, ['1', '2']]);
  expect(list.states.at(-1)?.length).toBe(2);
});

it('a watch whose polls are all too slow goes stale, and shows the latest state after a fast one', async () => {
  const stale: string[] = [];
  const stop = new AbortController();
  const states: (string | undefined)[] = [];
  const watching = (async () => {
    for await (const entry of pair.store.watch('q/a', { signal: stop.signal, onStale: ({ code }) => void stale.push(code) }))
      states.push(textOf(entry));
  })();
  await pass(200);
  const current = await pair.other.read('q/a', CALL);
  await pair.other.compareAndSwap([{ key: 'q/a', expect: current?.revision ?? '', put: new TextEncoder().encode('2') }], CALL);
  // Each question of the watch's takes so long.
  pair.tap.before = (sql) => {
    if (/\bWITH\b/.test(sql)) pair.rig.pass(1_500);
  };
  await pass(5_000);
  expect([states, stale]).toEqual([['1'], ['UNAVAILABLE']]);
  pair.tap.before = () => {};
  await pass(5_000);
  expect(states.length).toBe(2);
  stop.abort();
  await watching;
});
