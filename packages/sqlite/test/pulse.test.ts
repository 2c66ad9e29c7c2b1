/** What a store asks of its file for its watches, how often, and how soon changes of others are seen. Time passes when a test says so. */

import type { Entry, Store } from '@incumbent/core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { Code, sqliteError } from './faulty-disk.ts';
import { pass, stopTime, turns } from './manual-time.ts';
import { Recorder } from './recorder.ts';
import { bytes, CALL, LEASE_CALL, Rig, textOf } from './rig.ts';
import { Tap } from './tap.ts';

/** What the store under test asks to be told of the log: a test tells it in place of the system. */
const hints = vi.hoisted(() => ({ changed: (): void => {}, started: 0, stopped: 0 }));

vi.mock('../src/hints.ts', () => ({
  LogHints: class {
    start(changed: () => void): void {
      hints.changed = changed;
      hints.started += 1;
    }
    stop(): void {
      hints.changed = () => {};
      hints.stopped += 1;
    }
  },
}));

let rig: Rig;
let tap: Tap;
let store: Store;
/** Another process. */
let other: Store;
let watches: Recorder<unknown>[];

beforeEach(async () => {
  stopTime();
  rig = new Rig();
  tap = new Tap();
  store = await rig.open({ connect: tap.connect });
  other = await rig.open();
  watches = [];
});
afterEach(async () => {
  await Promise.all(watches.map((watch) => watch.stop()));
  vi.restoreAllMocks();
  vi.useRealTimers();
  rig[Symbol.dispose]();
});

async function watching(key: string): Promise<Recorder<Entry | undefined>> {
  const watch = new Recorder<Entry | undefined>((options) => store.watch(key, options));
  watches.push(watch);
  await pass(2);
  expect(watch.states.length).toBe(1);
  return watch;
}

async function watchingList(prefix: string): Promise<Recorder<readonly Entry[]>> {
  const watch = new Recorder<readonly Entry[]>((options) => store.watchList(prefix, options));
  watches.push(watch);
  await pass(2);
  expect(watch.states.length).toBe(1);
  return watch;
}

/** Puts a key, whatever is there. */
async function put(by: Store, key: string, value: string, lease?: string): Promise<void> {
  const current = await by.read(key, CALL);
  const change = { key, expect: current?.revision ?? null, put: bytes(value), ...(lease === undefined ? {} : { lease }) };
  expect((await by.compareAndSwap([change], CALL)).swapped).toBe(true);
}

/** A lease of this store's own that holds a key: whoever watches that waits for nobody. */
async function own(key: string): Promise<string> {
  const { id } = await store.grantLease(86_400_000, LEASE_CALL);
  await put(store, key, 'own', id);
  return id;
}

const looks = (): number => tap.count('PRAGMA data_version');

describe('how often the file is asked', () => {
  it('is not at all while nothing is watched, before or after', async () => {
    tap.take();
    await pass(1_000);
    expect([tap.take(), vi.getTimerCount()]).toEqual([[], 0]);
    const watch = await watching('a');
    await watch.stop();
    await pass(100);
    tap.take();
    await put(other, 'a', '1');
    await pass(1_000);
    expect([tap.take(), vi.getTimerCount(), hints.stopped > 0]).toEqual([[], 0, true]);
  });

  it('is every 10 ms while a watched key is absent', async () => {
    await watching('a');
    tap.take();
    await pass(1_000);
    expect(looks()).toBe(100);
  });

  it('is every 10 ms while a watched key is held by another process, or by no lease', async () => {
    const lease = await other.grantLease(86_400_000, LEASE_CALL);
    await put(other, 'a', '1', lease.id);
    const watch = await watching('a');
    tap.take();
    await pass(1_000);
    expect(looks()).toBe(100);
    await watch.stop();
    await put(other, 'b', '1');
    await watching('b');
    tap.take();
    await pass(1_000);
    expect(looks()).toBe(100);
  });

  it('is every 100 ms while all that is watched is this store’s own', async () => {
    await own('a');
    await own('b');
    await watching('a');
    await watching('b');
    tap.take();
    await pass(1_000);
    expect(looks()).toBe(10);
  });

  it('changes as soon as somebody waits, and when nobody does any more', async () => {
    await own('a');
    await watching('a');
    const absent = await watching('absent');
    tap.take();
    await pass(500);
    expect(looks()).toBe(50);
    await absent.stop();
    // What waited is found to be gone when the file is read next.
    await own('b');
    await pass(100);
    tap.take();
    await pass(1_000);
    expect(looks()).toBe(10);
  });

  it('is at once when this store has written, for it must see its own changes', async () => {
    await own('a');
    const watch = await watching('a');
    await put(store, 'a', 'changed');
    await pass(2);
    expect(textOf(watch.latest)).toBe('changed');
  });

  it('is once a time, whatever this store writes meanwhile', async () => {
    await watching('a');
    tap.take();
    for (let index = 0; index < 20; index += 1) await put(store, `k${index}`, '1');
    await pass(2);
    expect(looks()).toBeLessThanOrEqual(3);
  });
});

describe('how much is asked each time', () => {
  it.each([1, 1_000])('is one statement when nothing has changed, with %i keys watched', async (count) => {
    for (let index = 0; index < count; index += 1) watches.push(new Recorder((options) => store.watch(`k${index}`, options)));
    await pass(20);
    tap.take();
    await pass(10);
    expect(tap.take()).toEqual(['PRAGMA data_version']);
  });

  it.each([1, 1_000])('is three statements when one key has changed, with %i keys watched', async (count) => {
    for (let index = 0; index < count; index += 1) watches.push(new Recorder((options) => store.watch(`k${index}`, options)));
    await pass(20);
    await put(other, 'k0', 'changed');
    tap.take();
    await pass(10);
    expect(tap.take().length).toBe(3);
    expect(textOf(watches[0]?.latest as Entry)).toBe('changed');
    expect(watches.slice(1).every(({ states }) => states.length === 1)).toBe(true);
  });

  it.each([1, 100])('is five when an entry has come, and the entries of that queue alone, with %i queues watched', async (count) => {
    for (let index = 0; index < count; index += 1) watches.push(new Recorder((options) => store.watchList(`q${index}`, options)));
    await pass(20);
    await put(other, 'q0/n', '1');
    tap.take();
    await pass(10);
    expect(tap.take().length).toBe(5);
    expect(watches.map(({ states }) => states.length)).toEqual([2, ...Array.from({ length: count - 1 }, () => 1)]);
  });

  it.each([1, 100])(
    'is one for each queue when something has gone, and no entries but of the one it went from: %i queues',
    async (count) => {
      await put(other, 'q0/n', '1');
      const { revision = '' } = (await other.read('q0/n', CALL)) ?? {};
      for (let index = 0; index < count; index += 1) watches.push(new Recorder((options) => store.watchList(`q${index}`, options)));
      await pass(20);
      await other.compareAndSwap([{ key: 'q0/n', expect: revision, delete: true }], CALL);
      tap.take();
      await pass(10);
      expect(tap.take().length).toBe(2 + count + 1);
      expect(watches.map(({ states }) => states.length)).toEqual([2, ...Array.from({ length: count - 1 }, () => 1)]);
    },
  );

  it('is no reading of keys when others have only renewed', async () => {
    const lease = await other.grantLease(60_000, LEASE_CALL);
    await put(other, 'a', '1', lease.id);
    await watching('a');
    await watchingList('q');
    tap.take();
    for (let renewal = 0; renewal < 20; renewal += 1) {
      await other.renewLease(lease.id, LEASE_CALL);
      await pass(10);
    }
    expect(tap.count(/keys k/)).toBe(0);
    expect(looks()).toBe(20);
    expect(tap.steps.length).toBe(40);
  });

  it('is the same for two watches of one key as for one', async () => {
    const [first, second] = [await watching('a'), await watching('a')];
    await put(other, 'a', '1');
    tap.take();
    await pass(10);
    expect(tap.take().length).toBe(3);
    expect([textOf(first.latest), textOf(second.latest)]).toEqual(['1', '1']);
  });
});

describe('a change by another process', () => {
  it('is seen within 10 ms by a watch that waits, though the system gives no hint', async () => {
    const watch = await watching('a');
    for (const value of ['1', '2', '3']) {
      await put(other, 'a', value);
      await pass(10);
      expect(textOf(watch.latest)).toBe(value);
    }
  });

  it('is seen within 100 ms by one that does not wait, though the system gives no hint', async () => {
    const lease = await own('a');
    const watch = await watching('a');
    await pass(99);
    await put(other, 'a', 'other', lease);
    await pass(100);
    expect(textOf(watch.latest)).toBe('other');
  });

  it('is seen at once with a hint, and soon where the hint came before it could be read', async () => {
    await own('a');
    const list = await watchingList('q');
    const watch = await watching('a');
    await own('q/n');
    await pass(100);
    hints.changed();
    await pass(2);
    const lease = await other.grantLease(60_000, LEASE_CALL);
    await other.enqueue('q', 'm', bytes(''), lease.id, CALL);
    await pass(5);
    expect(list.latest?.map(({ name }) => name)).toEqual(['n', 'm']);
    expect(watch.states.length).toBe(1);
  });

  it('is seen though hints come without a pause', async () => {
    await own('a');
    const watch = await watching('a');
    const lease = watch.latest?.lease ?? expect.unreachable('no lease');
    await put(other, 'a', 'other', lease);
    // Closer together than any delay after a hint.
    for (let hint = 0; hint < 40; hint += 1) {
      hints.changed();
      vi.advanceTimersByTime(0.5);
    }
    await turns(2);
    expect(textOf(watch.latest)).toBe('other');
  });

  it('is seen though this store writes without a pause', async () => {
    const watch = await watching('a');
    await put(other, 'a', 'other');
    for (let write = 0; write < 20; write += 1) {
      await put(store, 'b', String(write));
      vi.advanceTimersByTime(0.5);
    }
    await turns(2);
    expect(textOf(watch.latest)).toBe('other');
  });

  it('that only deletes is seen within 10 ms, by whoever watches the key or what it is below', async () => {
    for (const name of ['a', 'b']) await put(other, `q/${name}`, '1');
    const [key, list] = [await watching('q/a'), await watchingList('q')];
    const { revision = '' } = (await other.read('q/a', CALL)) ?? {};
    await other.compareAndSwap([{ key: 'q/a', expect: revision, delete: true }], CALL);
    await pass(10);
    expect([key.latest, list.latest?.map(({ name }) => name)]).toEqual([undefined, ['b']]);
  });

  it('that puts one and deletes another at once is seen, though as many are there as before', async () => {
    await put(other, 'q/a', '1');
    const list = await watchingList('q');
    const { revision = '' } = (await other.read('q/a', CALL)) ?? {};
    const changes = [
      { key: 'q/b', expect: null, put: bytes('') },
      { key: 'q/a', expect: revision, delete: true as const },
    ];
    await other.compareAndSwap(changes, CALL);
    await pass(10);
    expect(list.latest?.map(({ name }) => name)).toEqual(['b']);
  });

  it('to a key is shown to those who watch what it is below, at any depth', async () => {
    const [near, far, beside] = [await watchingList('a/b'), await watchingList('a'), await watchingList('a/bc')];
    await put(other, 'a/b/c', '1');
    await pass(10);
    expect([near, far].map(({ latest }) => latest?.map((entry) => entry.key))).toEqual([['a/b/c'], ['a/b/c']]);
    await put(other, 'a/b/c', '2');
    await pass(10);
    expect([near, far].map(({ latest }) => latest?.map(textOf))).toEqual([['2'], ['2']]);
    expect(beside.states).toEqual([[]]);
  });

  it('by an operator who deletes a lease or a key in the shell is seen', async () => {
    const lease = await other.grantLease(60_000, LEASE_CALL);
    await put(other, 'a', '1', lease.id);
    await put(other, 'b', '1');
    const [a, b] = [await watching('a'), await watching('b')];
    rig.raw().exec(`DELETE FROM leases; DELETE FROM keys WHERE key LIKE '%/b'`);
    await pass(10);
    expect([a.latest, b.latest]).toEqual([undefined, undefined]);
  });

  it('that was undone before anybody looked is not shown', async () => {
    const watch = await watching('a');
    await put(other, 'a', '1');
    const { revision = '' } = (await other.read('a', CALL)) ?? {};
    await other.compareAndSwap([{ key: 'a', expect: revision, delete: true }], CALL);
    await pass(50);
    expect(watch.states).toEqual([undefined]);
  });
});

describe('the end of a lease', () => {
  it('is seen when it comes, though nobody writes anything, and is swept away', async () => {
    const lease = await other.grantLease(1_000, LEASE_CALL);
    await put(other, 'a', '1', lease.id);
    const watch = await watching('a');
    rig.pass(999);
    await pass(20);
    expect(watch.states.length).toBe(1);
    rig.pass(1);
    await pass(10);
    expect(watch.states.map((state) => textOf(state))).toEqual(['1', undefined]);
    expect(rig.ask('SELECT count(*) FROM keys')).toBe(0);
  });

  it('is seen once, and the end of the next one, too', async () => {
    for (const [name, ttlMs] of [
      ['a', 1_000],
      ['b', 2_000],
    ] as const) {
      const lease = await other.grantLease(ttlMs, LEASE_CALL);
      await other.enqueue('q', name, bytes(''), lease.id, CALL);
    }
    const list = await watchingList('q');
    const names = (): unknown => list.states.map((state) => state.map(({ name }) => name));
    rig.pass(1_000);
    await pass(100);
    expect(names()).toEqual([['a', 'b'], ['b']]);
    rig.pass(1_000);
    await pass(100);
    expect(names()).toEqual([['a', 'b'], ['b'], []]);
  });

  it('that a renewal has put off is not seen', async () => {
    const lease = await other.grantLease(1_000, LEASE_CALL);
    await put(other, 'a', '1', lease.id);
    const watch = await watching('a');
    for (let renewal = 0; renewal < 5; renewal += 1) {
      rig.pass(900);
      await other.renewLease(lease.id, LEASE_CALL);
      await pass(20);
    }
    expect(watch.states.length).toBe(1);
  });
});

describe('the death of a process', () => {
  const seeing = { space: 'here' };

  /** What a process of this host would have left: a lease that holds a key. */
  function leave(pid: number, key: string): void {
    const at = rig.nowUs + 86_400e6;
    const raw = rig.raw();
    raw.prepare(`INSERT INTO leases VALUES (?, 86400000000, ?, 'machine one', 'boot one', 'here', ?, '1')`).run(`lease of ${pid}`, at, pid);
    raw.exec('UPDATE store SET revision = revision + 1');
    raw.prepare(`INSERT INTO keys SELECT ?, x'', revision, revision, ? FROM store`).run(`incumbent/${key}`, `lease of ${pid}`);
    raw.close();
  }

  /** No process has these ids. */
  const DEAD = [2 ** 31 - 2, 2 ** 31 - 3];

  beforeEach(async () => {
    store = await rig.open({ connect: tap.connect, host: rig.host(seeing) });
  });

  it('that holds a watched key is shown at once, and its keys go with it', async () => {
    leave(DEAD[0] ?? 0, 'a');
    const watch = new Recorder<Entry | undefined>((options) => store.watch('a', options));
    watches.push(watch);
    await pass(20);
    expect(watch.states.map((entry) => entry?.name)).toEqual(['a', undefined]);
    expect(rig.ask('SELECT (SELECT count(*) FROM keys) + (SELECT count(*) FROM leases)')).toBe(0);
  });

  it('is nobody’s concern where nothing of it is watched, until a lease is granted', async () => {
    leave(DEAD[0] ?? 0, 'a');
    await watching('b');
    await pass(1_000);
    expect(rig.ask('SELECT count(*) FROM keys')).toBe(1);
    await store.grantLease(1_000, LEASE_CALL);
    expect(rig.ask('SELECT count(*) FROM keys')).toBe(0);
  });

  it('cannot be seen from another pid namespace, nor where processes cannot be seen', async () => {
    leave(DEAD[0] ?? 0, 'a');
    for (const space of [{ space: 'there' }, {}]) {
      const blind = await rig.open({ host: rig.host(space) });
      const watch = new Recorder<Entry | undefined>((options) => blind.watch('a', options));
      watches.push(watch);
      await blind.grantLease(1_000, LEASE_CALL);
      await pass(200);
      expect(watch.states.length).toBe(1);
    }
  });

  it('is looked for with four processes at a time, however many hold what is watched', async () => {
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    for (let index = 0; index < 30; index += 1) leave(10_000_000 + index, `q/${index}`);
    await watchingList('q');
    kill.mockClear();
    await pass(10);
    expect(kill.mock.calls.length).toBe(4);
    await pass(70);
    expect(new Set(kill.mock.calls.map(([pid]) => pid)).size).toBe(30);
  });

  it('never is this store’s own', async () => {
    const kill = vi.spyOn(process, 'kill');
    await own('a');
    await watching('a');
    await pass(500);
    expect(kill).not.toHaveBeenCalled();
  });

  it('that cannot be written down is told of by nobody, and is no reason for a watch to be stale', async () => {
    leave(DEAD[0] ?? 0, 'a');
    tap.before = (sql) => {
      if (sql === 'BEGIN IMMEDIATE') throw sqliteError(Code.full);
    };
    const watch = await watching('a');
    await pass(5_000);
    expect([watch.states.length, watch.stale]).toEqual([1, []]);
    tap.before = () => {};
    await pass(60);
    expect(watch.latest).toBeUndefined();
  });
});

describe('a file that cannot be read', () => {
  let failing: boolean;
  beforeEach(() => {
    failing = false;
    tap.before = () => {
      if (failing) throw sqliteError(Code.ioerr);
    };
  });

  it('is not told of within a second: nothing is stale that comes and goes', async () => {
    const watch = await watching('a');
    failing = true;
    await pass(990);
    failing = false;
    await put(other, 'a', '1');
    await pass(20);
    expect([watch.stale, textOf(watch.latest), watch.states.length]).toEqual([[], '1', 2]);
    failing = true;
    await pass(990);
    expect(watch.stale).toEqual([]);
  });

  it('makes watches stale after a second, once; they show the state again when it can be read, changed or not', async () => {
    await put(other, 'a', '1');
    const [key, list] = [await watching('a'), await watchingList('q')];
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
    await put(other, 'a', '2');
    await pass(10);
    expect([textOf(key.latest), key.stale.length]).toEqual(['2', 1]);
  });

  it('keeps a new watch waiting for its first state; it is not called stale before it has one', async () => {
    failing = true;
    const watch = new Recorder<Entry | undefined>((options) => store.watch('a', options));
    watches.push(watch);
    await pass(3_000);
    expect([watch.states, watch.stale]).toEqual([[], []]);
    failing = false;
    await pass(110);
    expect([watch.states, watch.stale]).toEqual([[undefined], []]);
  });

  it('that fails in the midst of a look is looked at again: no change is missed', async () => {
    const watch = await watching('a');
    let planted = 0;
    tap.before = (sql) => {
      if (/k\.revision/.test(sql) && ++planted <= 3) throw sqliteError(Code.ioerr);
    };
    await put(other, 'a', '1');
    await pass(100);
    expect([planted > 3, textOf(watch.latest), watch.stale]).toEqual([true, '1', []]);
  });

  it('though it can be read cannot be swept: watches go on and are not stale, for what has ended is not shown anyway', async () => {
    const lease = await other.grantLease(1_000, LEASE_CALL);
    await put(other, 'a', '1', lease.id);
    const watch = await watching('a');
    tap.before = (sql) => {
      if (sql === 'BEGIN IMMEDIATE') throw sqliteError(Code.full);
    };
    rig.pass(1_000);
    await pass(5_000);
    expect([watch.states.map((state) => textOf(state)), watch.stale]).toEqual([['1', undefined], []]);
  });
});
