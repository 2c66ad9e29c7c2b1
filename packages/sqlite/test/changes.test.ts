/** How soon a watch shows changes by other processes, and ends of leases. */

import { describe, expect, it, vi } from 'vitest';

import { log } from './fake-log-watcher.ts';
import { pass, turns } from './manual-time.ts';
import { put, usePair } from './pair.ts';
import { bytes, CALL, LEASE_CALL, textOf } from './rig.ts';

vi.mock('../src/host/log-watcher.ts', () => import('./fake-log-watcher.ts'));

const pair = usePair();

describe('a change by another process', () => {
  it('is seen within 10 ms by a watch that waits, without a report by the system', async () => {
    const watch = await pair().watch('a');
    for (const value of ['1', '2', '3']) {
      await put(pair().other, 'a', value);
      await pass(10);
      expect(textOf(watch.latest)).toBe(value);
    }
  });

  it('is seen within 100 ms by one that does not wait, without a report by the system', async () => {
    const lease = await pair().own('a');
    const watch = await pair().watch('a');
    await pass(99);
    await put(pair().other, 'a', 'other', lease);
    await pass(100);
    expect(textOf(watch.latest)).toBe('other');
  });

  it('is seen at once after a report, and soon if the report came before the commit', async () => {
    await pair().own('a');
    const list = await pair().watchList('q');
    const watch = await pair().watch('a');
    await pair().own('q/n');
    await pass(100);
    log.report();
    await pass(2);
    const lease = await pair().other.grantLease(60_000, LEASE_CALL);
    await pair().other.enqueue('q', 'm', bytes(''), lease.id, CALL);
    await pass(5);
    expect(list.latest?.map(({ name }) => name)).toEqual(['n', 'm']);
    expect(watch.states.length).toBe(1);
  });

  it('is seen although reports come without a pause', async () => {
    await pair().own('a');
    const watch = await pair().watch('a');
    const lease = watch.latest?.lease ?? expect.unreachable('no lease');
    await put(pair().other, 'a', 'other', lease);
    // Closer together than any pause after a report.
    for (let count = 0; count < 40; count += 1) {
      log.report();
      vi.advanceTimersByTime(0.5);
    }
    await turns(2);
    expect(textOf(watch.latest)).toBe('other');
  });

  it('is seen although this store writes without a pause', async () => {
    const watch = await pair().watch('a');
    await put(pair().other, 'a', 'other');
    for (let write = 0; write < 20; write += 1) {
      await put(pair().store, 'b', String(write));
      vi.advanceTimersByTime(0.5);
    }
    await turns(2);
    expect(textOf(watch.latest)).toBe('other');
  });

  it('that only deletes is seen within 10 ms, by watches of the key and of a prefix', async () => {
    for (const name of ['a', 'b']) await put(pair().other, `q/${name}`, '1');
    const [key, list] = [await pair().watch('q/a'), await pair().watchList('q')];
    const { revision = '' } = (await pair().other.read('q/a', CALL)) ?? {};
    await pair().other.compareAndSwap([{ key: 'q/a', expect: revision, delete: true }], CALL);
    await pass(10);
    expect([key.latest, list.latest?.map(({ name }) => name)]).toEqual([undefined, ['b']]);
  });

  it('that puts one key and deletes another at once is seen, although the number of keys is the same', async () => {
    await put(pair().other, 'q/a', '1');
    const list = await pair().watchList('q');
    const { revision = '' } = (await pair().other.read('q/a', CALL)) ?? {};
    const changes = [
      { key: 'q/b', expect: null, put: bytes('') },
      { key: 'q/a', expect: revision, delete: true as const },
    ];
    await pair().other.compareAndSwap(changes, CALL);
    await pass(10);
    expect(list.latest?.map(({ name }) => name)).toEqual(['b']);
  });

  it('to a key is shown to watches of each of its parent paths', async () => {
    const [near, far, beside] = [await pair().watchList('a/b'), await pair().watchList('a'), await pair().watchList('a/bc')];
    await put(pair().other, 'a/b/c', '1');
    await pass(10);
    expect([near, far].map(({ latest }) => latest?.map((entry) => entry.key))).toEqual([['a/b/c'], ['a/b/c']]);
    await put(pair().other, 'a/b/c', '2');
    await pass(10);
    expect([near, far].map(({ latest }) => latest?.map(textOf))).toEqual([['2'], ['2']]);
    expect(beside.states).toEqual([[]]);
  });

  it('by an operator who deletes a lease or a key in the shell is seen', async () => {
    const lease = await pair().other.grantLease(60_000, LEASE_CALL);
    await put(pair().other, 'a', '1', lease.id);
    await put(pair().other, 'b', '1');
    const [a, b] = [await pair().watch('a'), await pair().watch('b')];
    pair().rig.raw().exec(`DELETE FROM leases; DELETE FROM keys WHERE key LIKE '%/b'`);
    await pass(10);
    expect([a.latest, b.latest]).toEqual([undefined, undefined]);
  });

  it('by an operator who restores an older state in place is seen', async () => {
    await put(pair().other, 'a', '1');
    const older = Number(pair().rig.ask('SELECT revision FROM store'));
    await put(pair().other, 'b', '1');
    const [a, b] = [await pair().watch('a'), await pair().watch('b')];
    pair().rig.raw().exec(`BEGIN; DELETE FROM keys WHERE key LIKE '%/b'; UPDATE store SET revision = ${older}; COMMIT`);
    await pass(10);
    expect([textOf(a.latest), b.latest]).toEqual(['1', undefined]);
    await put(pair().other, 'a', '2');
    await pass(10);
    expect(textOf(a.latest)).toBe('2');
    pair().rig.raw().exec(`DELETE FROM keys`);
    await pass(10);
    expect(a.latest).toBe(undefined);
  });

  it('that puts a key again which it has deleted is shown as it is now', async () => {
    await put(pair().other, 'a', '1');
    const watch = await pair().watch('a');
    const { revision = '' } = (await pair().other.read('a', CALL)) ?? {};
    await pair().other.compareAndSwap([{ key: 'a', expect: revision, delete: true }], CALL);
    await put(pair().other, 'a', '2');
    await pass(10);
    expect(watch.states.map(textOf)).toEqual(['1', '2']);
  });

  it('that comes while a list is read, and is undone later, does not stay in the list', async () => {
    const lease = await pair().other.grantLease(60_000, LEASE_CALL);
    await pair().other.enqueue('q', 'a', bytes(''), lease.id, CALL);
    const raw = pair().rig.raw();
    let isAdded = false;
    // After the fingerprint of the list was read, and before the list.
    pair().tap.before = (sql) => {
      if (isAdded || !sql.includes('ORDER BY k.created')) return;
      isAdded = true;
      raw.exec(`BEGIN IMMEDIATE; UPDATE store SET revision = revision + 1;
        INSERT INTO keys SELECT 'incumbent/q/b', x'01', revision, revision, '${lease.id}' FROM store; COMMIT`);
    };
    const list = await pair().watchList('q');
    expect(list.latest?.map(({ name }) => name)).toEqual(['a', 'b']);
    raw.exec(`BEGIN IMMEDIATE; UPDATE store SET revision = revision + 1; DELETE FROM keys WHERE key LIKE '%/b'; COMMIT`);
    await pass(20);
    expect(list.latest?.map(({ name }) => name)).toEqual(['a']);
  });

  it('that was undone before the next poll is not shown', async () => {
    const watch = await pair().watch('a');
    await put(pair().other, 'a', '1');
    const { revision = '' } = (await pair().other.read('a', CALL)) ?? {};
    await pair().other.compareAndSwap([{ key: 'a', expect: revision, delete: true }], CALL);
    await pass(50);
    expect(watch.states).toEqual([undefined]);
  });
});

describe('the end of a lease', () => {
  it('is seen when it comes, although nobody writes, and its rows are deleted', async () => {
    const lease = await pair().other.grantLease(1_000, LEASE_CALL);
    await put(pair().other, 'a', '1', lease.id);
    const watch = await pair().watch('a');
    pair().rig.pass(999);
    await pass(20);
    expect(watch.states.length).toBe(1);
    pair().rig.pass(1);
    await pass(10);
    expect(watch.states.map((state) => textOf(state))).toEqual(['1', undefined]);
    expect(pair().rig.ask('SELECT count(*) FROM keys')).toBe(0);
  });

  it('is seen although its rows cannot be deleted', async () => {
    const lease = await pair().other.grantLease(1_000, LEASE_CALL);
    await put(pair().other, 'a', '1', lease.id);
    const watch = await pair().watch('a');
    const writer = pair().rig.raw();
    writer.exec('BEGIN IMMEDIATE');
    pair().rig.pass(1_000);
    await pass(10);
    expect(watch.states.map(textOf)).toEqual(['1', undefined]);
    expect(pair().rig.ask('SELECT count(*) FROM keys')).toBe(1);
    writer.exec('ROLLBACK');
  });

  it('is seen once, and the end of the next one, too', async () => {
    for (const [name, ttlMs] of [
      ['a', 1_000],
      ['b', 2_000],
    ] as const) {
      const lease = await pair().other.grantLease(ttlMs, LEASE_CALL);
      await pair().other.enqueue('q', name, bytes(''), lease.id, CALL);
    }
    const list = await pair().watchList('q');
    const names = (): unknown => list.states.map((state) => state.map(({ name }) => name));
    pair().rig.pass(1_000);
    await pass(100);
    expect(names()).toEqual([['a', 'b'], ['b']]);
    pair().rig.pass(1_000);
    await pass(100);
    expect(names()).toEqual([['a', 'b'], ['b'], []]);
  });

  it('is seen though it comes between two readings of the clock', async () => {
    const ending = await pair().other.grantLease(1_000, LEASE_CALL);
    await put(pair().other, 'a', '1', ending.id);
    const renewed = await pair().other.grantLease(86_400_000, LEASE_CALL);
    const watch = await pair().watch('a');
    // The renewal of another lease makes the next poll read the file, 10 µs before the end.
    await pair().other.renewLease(renewed.id, LEASE_CALL);
    pair().rig.nowUs += 1_000_000 - 10;
    pair().rig.readAdvancesUs = 20;
    await pass(10);
    pair().rig.readAdvancesUs = 0;
    pair().rig.pass(5_000);
    await pass(20);
    expect(watch.states.map(textOf)).toEqual(['1', undefined]);
  });

  it('that a renewal has put off is not seen', async () => {
    const lease = await pair().other.grantLease(1_000, LEASE_CALL);
    await put(pair().other, 'a', '1', lease.id);
    const watch = await pair().watch('a');
    for (let renewal = 0; renewal < 5; renewal += 1) {
      pair().rig.pass(900);
      await pair().other.renewLease(lease.id, LEASE_CALL);
      await pass(20);
    }
    expect(watch.states.length).toBe(1);
  });
});
