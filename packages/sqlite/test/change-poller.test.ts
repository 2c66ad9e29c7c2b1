/** How often a store polls its file for its watches, and what it reads. */

import type { Entry } from '@incumbent/core';
import type { Recorder } from '@incumbent/test-support/recorder';
import { describe, expect, it, vi } from 'vitest';

import { CHANGES_KEPT } from '../src/schema/schema.ts';
import { log } from './fake-log-watcher.ts';
import { pass } from './manual-time.ts';
import { put, usePair } from './pair.ts';
import { CALL, LEASE_CALL, textOf } from './rig.ts';

vi.mock('../src/host/log-watcher.ts', () => import('./fake-log-watcher.ts'));

const pair = usePair();

const polls = (): number => pair().tap.count('PRAGMA data_version');

/** How often the file is polled in the next so many ms. */
async function pollsIn(ms: number): Promise<number> {
  pair().tap.take();
  await pass(ms);
  return polls();
}

/** Watches of `k0`, `k1`, …, before they have shown their first states. */
function watchKeys(count: number): readonly Recorder<Entry | undefined>[] {
  return Array.from({ length: count }, (_, index) => pair().follow((options) => pair().store.watch(`k${index}`, options)));
}

/** Likewise, of what is below `q0`, `q1`, …. */
function watchQueues(count: number): readonly Recorder<readonly Entry[]>[] {
  return Array.from({ length: count }, (_, index) => pair().follow((options) => pair().store.watchList(`q${index}`, options)));
}

describe('how often the file is polled', () => {
  it('is not at all while nothing is watched, before or after', async () => {
    pair().tap.take();
    await pass(1_000);
    expect([pair().tap.take(), vi.getTimerCount()]).toEqual([[], 0]);
    const watch = await pair().watch('a');
    await watch.stop();
    await pass(100);
    pair().tap.take();
    await put(pair().other, 'a', '1');
    await pass(1_000);
    expect([pair().tap.take(), vi.getTimerCount(), log.stopped > 0]).toEqual([[], 0, true]);
  });

  it('is every 10 ms while a watched key is absent', async () => {
    await pair().watch('a');
    expect(await pollsIn(1_000)).toBe(100);
  });

  it('is every 10 ms while a watched key is held by another process, or by no lease', async () => {
    const lease = await pair().other.grantLease(86_400_000, LEASE_CALL);
    await put(pair().other, 'a', '1', lease.id);
    const watch = await pair().watch('a');
    expect(await pollsIn(1_000)).toBe(100);
    await watch.stop();
    await put(pair().other, 'b', '1');
    await pair().watch('b');
    expect(await pollsIn(1_000)).toBe(100);
  });

  it('is every 100 ms while all that is watched is this store’s own', async () => {
    await pair().own('a');
    await pair().own('b');
    await pair().watch('a');
    await pair().watch('b');
    expect(await pollsIn(1_000)).toBe(10);
  });

  it('changes when a watch starts or stops waiting for another process', async () => {
    await pair().own('a');
    await pair().watch('a');
    const absent = await pair().watch('absent');
    expect(await pollsIn(500)).toBe(50);
    await absent.stop();
    // What waited is found to be gone when the file is read next.
    await pair().own('b');
    await pass(100);
    expect(await pollsIn(1_000)).toBe(10);
  });

  it('is at once when this store has written, for it must see its own changes', async () => {
    await pair().own('a');
    const watch = await pair().watch('a');
    await put(pair().store, 'a', 'changed');
    await pass(2);
    expect(textOf(watch.latest)).toBe('changed');
  });

  it('is at most once per interval, however often this store writes', async () => {
    await pair().watch('a');
    pair().tap.take();
    for (let index = 0; index < 20; index += 1) await put(pair().store, `k${index}`, '1');
    await pass(2);
    expect(polls()).toBeLessThanOrEqual(3);
  });
});

describe('how much a poll reads', () => {
  it.each([1, 1_000])('is one statement when nothing has changed, with %i keys watched', async (count) => {
    watchKeys(count);
    await pass(20);
    pair().tap.take();
    await pass(10);
    expect(pair().tap.take()).toEqual(['PRAGMA data_version']);
  });

  it.each([1, 1_000])('is three statements when one key has changed, with %i keys watched', async (count) => {
    const watches = watchKeys(count);
    await pass(20);
    await put(pair().other, 'k0', 'changed');
    pair().tap.take();
    await pass(10);
    expect(pair().tap.take().length).toBe(3);
    expect(textOf(watches[0]?.latest)).toBe('changed');
    expect(watches.slice(1).every(({ states }) => states.length === 1)).toBe(true);
  });

  it.each([1, 100])('is five statements when an entry was added, for that queue only, with %i queues watched', async (count) => {
    const watches = watchQueues(count);
    expect(await statementsFor(() => put(pair().other, 'q0/n', '1'))).toBe(5);
    expectOneChange(watches);
  });

  /**
   * Runs a change by another store, and returns the number of statements with which the poller
   * reads it.
   */
  async function statementsFor(change: () => Promise<unknown>): Promise<number> {
    await pass(20);
    await change();
    pair().tap.take();
    await pass(10);
    return pair().tap.take().length;
  }

  async function deleteKey(key: string): Promise<void> {
    const { revision = '' } = (await pair().other.read(key, CALL)) ?? {};
    await pair().other.compareAndSwap([{ key, expect: revision, delete: true }], CALL);
  }

  /** One watch has shown a second state, and the others have not. */
  function expectOneChange(watches: readonly Recorder<unknown>[]): void {
    expect(watches.map(({ states }) => states.length)).toEqual([2, ...watches.slice(1).map(() => 1)]);
  }

  it.each([1, 1_000])('is three statements when one key was deleted, with %i keys watched', async (count) => {
    await put(pair().other, 'k0', '1');
    const watches = watchKeys(count);
    expect(await statementsFor(() => deleteKey('k0'))).toBe(3);
    expectOneChange(watches);
  });

  it.each([1, 100])('is five statements when an entry was deleted, for that queue only, with %i queues watched', async (count) => {
    await put(pair().other, 'q0/n', '1');
    const watches = watchQueues(count);
    expect(await statementsFor(() => deleteKey('q0/n'))).toBe(5);
    expectOneChange(watches);
  });

  it('is everything that is watched, when more was deleted than the file records', async () => {
    for (const key of ['k0', 'k1']) await put(pair().other, key, '1');
    const watches = watchKeys(2);
    const list = await pair().watchList('q');
    await pass(20);
    const { revision = '' } = (await pair().other.read('k0', CALL)) ?? {};
    await pair().other.compareAndSwap([{ key: 'k0', expect: revision, delete: true }], CALL);
    for (let change = 0; change < CHANGES_KEPT; change += 1) await put(pair().other, 'q/n', String(change));
    pair().rig.raw().exec('DELETE FROM gone');
    await pass(10);
    expect(watches.map(({ states }) => states.map(textOf))).toEqual([['1', undefined], ['1']]);
    expect(list.latest?.map(textOf)).toEqual([String(CHANGES_KEPT - 1)]);
  });

  it('does not grow with the number of deletions: the file records only the last ones', async () => {
    const raw = pair().rig.raw();
    for (let change = 0; change < CHANGES_KEPT; change += 1) raw.exec(`INSERT INTO keys VALUES ('k', x'', 0, 0, NULL); DELETE FROM keys`);
    expect(pair().rig.ask('SELECT count(*) FROM gone')).toBe(CHANGES_KEPT);
    raw.exec(`INSERT INTO keys VALUES ('k', x'', 0, 0, NULL); DELETE FROM keys`);
    expect(pair().rig.ask('SELECT count(*) FROM gone')).toBe(CHANGES_KEPT);
  });

  it('includes no keys when others have only renewed leases', async () => {
    const lease = await pair().other.grantLease(60_000, LEASE_CALL);
    await put(pair().other, 'a', '1', lease.id);
    await pair().watch('a');
    await pair().watchList('q');
    pair().tap.take();
    for (let renewal = 0; renewal < 20; renewal += 1) {
      await pair().other.renewLease(lease.id, LEASE_CALL);
      await pass(10);
    }
    expect(pair().tap.count(/keys k/)).toBe(0);
    expect(polls()).toBe(20);
    expect(pair().tap.steps.length).toBe(40);
  });

  it('is the same for two watches of one key as for one', async () => {
    const [first, second] = [await pair().watch('a'), await pair().watch('a')];
    await put(pair().other, 'a', '1');
    pair().tap.take();
    await pass(10);
    expect(pair().tap.take().length).toBe(3);
    expect([textOf(first.latest), textOf(second.latest)]).toEqual(['1', '1']);
  });
});
