/**
 * What watches can miss or see too late, or what is not there. Real time: a watch notices a change of the
 * file by asking the file again and again, which the file's own clock does not drive.
 */

import { DatabaseSync } from 'node:sqlite';
import { copyFileSync, readFileSync, renameSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { parseStat } from '@incumbent/core/adapter';
import { until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { readHost } from '../../src/host/host.ts';
import { inTime, now, watched, World } from './world.ts';

const bytes = new Uint8Array([1]);

function startedOf(pid: number): string {
  return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.started ?? '';
}

/** What a watch showed last. */
function latest<T>(states: AsyncIterable<T>): { state: T | undefined; count: number } {
  const seen: { state: T | undefined; count: number } = { state: undefined, count: 0 };
  void (async () => {
    for await (const state of states) {
      seen.state = state;
      seen.count += 1;
    }
  })().catch(() => {});
  return seen;
}

describe('the end of a lease', () => {
  it('is noticed when it falls between the question whether one is due and the question which one is next', async () => {
    await using world = new World();
    const clock = { us: 1_000_000_000 };
    const host = { ...readHost(), nowUs: () => clock.us };
    let armed = false;
    let renewed = false;
    const other = await world.open(
      host,
      watched((sql) => {
        renewed ||= armed && sql === 'COMMIT';
      }),
    );
    const dying = await other.grantLease(1_000, now());
    await other.enqueue('queue', 'a', bytes, dying.id, inTime);
    const renewing = await other.grantLease(86_400_000, now());
    // Time goes on by 20 µs from one reading of the clock to the next: the lease ends in between.
    const store = await world.open({
      ...host,
      nowUs: () => {
        const us = clock.us;
        if (renewed) clock.us += 20;
        return us;
      },
    });
    const stop = new AbortController();
    const seen = latest(store.watch('queue/a', { signal: stop.signal }));
    await until(() => seen.state !== undefined, { what: 'the entry', withinMs: 2_000 });

    // 10 µs before its end another process renews its lease, as others do all the time.
    armed = true;
    clock.us = 1_000_000_000 + 1_000_000 - 10;
    await other.renewLease(renewing.id, now());
    await sleep(300);
    clock.us += 5_000_000;
    await until(() => seen.count > 1 && seen.state === undefined, { what: 'the end, 5 s after it', withinMs: 2_000 }).finally(() =>
      stop.abort(),
    );
  });
});

describe('a list', () => {
  it('does not show for ever what came while it was read and was gone at the next look', async () => {
    await using world = new World();
    const other = await world.open();
    const lease = await other.grantLease(60_000, now());
    await other.enqueue('queue', 'a', bytes, lease.id, inTime);
    let between: (() => void) | undefined;
    // Another process, in the moment between the fingerprint and the list.
    const intruder = new DatabaseSync(world.file);
    const connect = watched((sql) => {
      if (!sql.includes('ORDER BY k.created')) return;
      between?.();
      between = undefined;
    });
    const store = await world.open(readHost(), connect);
    between = () =>
      intruder.exec(`BEGIN IMMEDIATE; UPDATE store SET revision = revision + 1;
        INSERT INTO keys SELECT 'incumbent/queue/ghost', x'01', revision, revision, '${lease.id}' FROM store; COMMIT`);
    const seen = latest(store.watchList('queue', { signal: new AbortController().signal }));
    await until(() => seen.state?.some(({ name }) => name === 'ghost'), { what: 'the ghost', withinMs: 2_000, everyMs: 1 });
    intruder.exec(`BEGIN IMMEDIATE; UPDATE store SET revision = revision + 1; DELETE FROM keys WHERE key LIKE '%/ghost'; COMMIT`);
    intruder.close();
    await until(() => seen.state?.length === 1, { what: 'the list without the ghost', withinMs: 2_000 });
  });
});

describe('a file that takes the place of another', () => {
  it('is what it was, and not covered with the log of the former one', async () => {
    await using world = new World();
    const store = await world.open();
    await store.compareAndSwap([{ key: 'k', expect: null, put: new Uint8Array([1]), lease: null }], inTime);
    await using elsewhere = new World();
    const another = await elsewhere.open();
    await another.compareAndSwap([{ key: 'k', expect: null, put: new Uint8Array([2]), lease: null }], inTime);
    await another.close();
    copyFileSync(elsewhere.file, `${world.file}.new`);
    renameSync(`${world.file}.new`, world.file);
    // It may be refused; what is shown must be what is in it.
    const found = await store.read('k', inTime).then(
      (entry) => entry?.value[0],
      () => 'refused',
    );
    expect(found).not.toBe(1);
  });
});

describe('processes whose leases are watched', () => {
  it('are all looked at in turn, also while something changes all the time', async () => {
    await using world = new World();
    const host = readHost();
    const keeper = await world.open();
    // Twelve leases: the last one's process is gone.
    const raw = new DatabaseSync(world.file);
    for (let n = 0; n < 12; n += 1) {
      const lease = await keeper.grantLease(60_000, now());
      await keeper.enqueue('queue', `m${String(n).padStart(2, '0')}`, bytes, lease.id, inTime);
      const [pid, started] = n === 11 ? [4_000_000, '1'] : [1, startedOf(1)];
      raw.prepare('UPDATE leases SET pid = ?, started = ? WHERE id = ?').run(pid, started, lease.id);
    }
    raw.close();
    // Somebody publishes a value before every look.
    const publisher = new DatabaseSync(world.file);
    let looks = 0;
    const connect = watched((sql) => {
      if (!sql.includes('data_version')) return;
      looks += 1;
      publisher.exec(`BEGIN IMMEDIATE; UPDATE store SET revision = revision + 1;
        INSERT INTO keys SELECT 'incumbent/app', x'01', revision, revision, NULL FROM store WHERE true
        ON CONFLICT (key) DO UPDATE SET revision = excluded.revision; COMMIT`);
    });
    const store = await world.open(host, connect);
    const seen = latest(store.watchList('queue', { signal: new AbortController().signal }));
    await until(() => looks > 100 || seen.state?.length === 11, { what: '100 looks', withinMs: 5_000 });
    publisher.close();
    expect(seen.state?.length).toBe(11);
  });
});
