/** What watches do while their file cannot be read. */

import { beforeEach, describe, expect, it, vi } from 'vitest';

import { Code, sqliteError } from './faulty-disk.ts';
import { pass } from './manual-time.ts';
import { put, usePair } from './pair.ts';
import { LEASE_CALL, textOf } from './rig.ts';

vi.mock('../src/host/log-watcher.ts', () => import('./fake-log-watcher.ts'));

const pair = usePair();

describe('a file that cannot be read', () => {
  let failing: boolean;
  beforeEach(() => {
    failing = false;
    pair().tap.before = () => {
      if (failing) throw sqliteError(Code.ioerr);
    };
  });

  it('for less than a second does not make a watch stale', async () => {
    const watch = await pair().watch('a');
    failing = true;
    await pass(990);
    failing = false;
    await put(pair().other, 'a', '1');
    await pass(20);
    expect([watch.stale, textOf(watch.latest), watch.states.length]).toEqual([[], '1', 2]);
    failing = true;
    await pass(990);
    expect(watch.stale).toEqual([]);
  });

  it('makes watches stale after a second, once; they show the state again when it can be read, changed or not', async () => {
    await put(pair().other, 'a', '1');
    const [key, list] = [await pair().watch('a'), await pair().watchList('q')];
    failing = true;
    await pass(1_020);
    expect(key.stale).toMatchObject([{ code: 'STORE_FAILED', outcome: 'notSent' }]);
    expect(list.stale.length).toBe(1);
    await pass(5_000);
    expect([key.stale.length, list.stale.length, key.states.length]).toEqual([1, 1, 1]);
    failing = false;
    await pass(110);
    expect([key.states.map((state) => textOf(state)), list.states]).toEqual([
      ['1', '1'],
      [[], []],
    ]);
    await put(pair().other, 'a', '2');
    await pass(10);
    expect([textOf(key.latest), key.stale.length]).toEqual(['2', 1]);
  });

  it('makes a new watch wait for its first state, without onStale', async () => {
    failing = true;
    const watch = pair().follow((options) => pair().store.watch('a', options));
    await pass(3_000);
    expect([watch.states, watch.stale]).toEqual([[], []]);
    failing = false;
    await pass(110);
    expect([watch.states, watch.stale]).toEqual([[undefined], []]);
  });

  it('after some statements of a poll is read again: no change is missed', async () => {
    const watch = await pair().watch('a');
    let planted = 0;
    pair().tap.before = (sql) => {
      if (/k\.revision/.test(sql) && ++planted <= 3) throw sqliteError(Code.ioerr);
    };
    await put(pair().other, 'a', '1');
    await pass(100);
    expect([planted > 3, textOf(watch.latest), watch.stale]).toEqual([true, '1', []]);
  });

  it.each([
    ['full', Code.full],
    ['read-only', Code.readonly],
  ] as const)('can be read on a disk that is %s: watches show the ends of leases, and are not stale', async (_, code) => {
    const lease = await pair().other.grantLease(1_000, LEASE_CALL);
    await put(pair().other, 'a', '1', lease.id);
    const watch = await pair().watch('a');
    pair().tap.before = (sql) => {
      if (/^\s*(?:INSERT|UPDATE|DELETE|COMMIT)/.test(sql)) throw sqliteError(code);
    };
    pair().rig.pass(1_000);
    await pass(5_000);
    expect([watch.states.map((state) => textOf(state)), watch.stale]).toEqual([['1', undefined], []]);
  });
});
