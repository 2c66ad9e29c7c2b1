/**
 * The statements that run at every change must not take longer the more keys and leases there are.
 */

import { expect, it } from 'vitest';

import type { Host } from '../src/host/host.ts';
import { ownIdentity } from '../src/host/process-identity.ts';
import { fingerprintOf, NEWEST, Tables } from '../src/schema/tables.ts';
import { bytes, CALL, LEASE_CALL, useRig } from './rig.ts';
import { Tap } from './tap.ts';

const rig = useRig();
const host = (): Host => rig().host({ space: 'space one' });

/** SQLite's query plans of the statements that `work` runs. */
function plansOf(work: (tables: Tables) => void): readonly string[] {
  const tap = new Tap();
  const connection = tap.connect(rig().file);
  work(new Tables(connection, host()));
  connection.close();
  const database = rig().raw();
  return tap.take().flatMap((sql) =>
    database
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map((step) => String(step['detail'])),
  );
}

it('reading the changes does not scan all keys', async () => {
  await rig().open();
  const plan = plansOf((tables) => {
    tables.status();
    tables.since(0, false);
  });
  expect(plan.filter((step) => /^SEARCH (keys|gone) USING .*(revision|rowid)/.test(step))).toHaveLength(2);
  expect(plan.filter((step) => /^SCAN (keys|gone|k)\b/.test(step))).toEqual([]);
});

it('a key that was put and deleted meanwhile is returned with its current state', async () => {
  const store = await rig().open();
  const connection = new Tap().connect(rig().file);
  const tables = new Tables(connection, host());
  const before = tables.status().revision;
  const put = await store.compareAndSwap([{ key: 'a', expect: null, put: bytes('1') }], CALL);
  const [revision] = put.swapped ? put.revisions : [];
  await store.compareAndSwap([{ key: 'a', expect: revision ?? expect.unreachable('not put'), delete: true }], CALL);
  await store.compareAndSwap([{ key: 'a', expect: null, put: bytes('2') }], CALL);
  const changes = tables.since(before, false) ?? [];
  expect(new Set(changes.map(({ key, row }) => `${key} ${new TextDecoder().decode(row?.value)}`))).toEqual(new Set(['incumbent/a 2']));
  expect(tables.list('incumbent', { values: true, before: NEWEST })).toHaveLength(1);
  connection.close();
});

it('a process is listed once, however many leases it has', async () => {
  const store = await rig().open({ host: host() });
  for (let lease = 0; lease < 20; lease += 1) await store.grantLease(60_000, LEASE_CALL);
  const connection = new Tap().connect(rig().file);
  const tables = new Tables(connection, host());
  const own = ownIdentity();
  expect(tables.holders()).toEqual(own === undefined ? [] : [own]);
  expect(own === undefined ? 20 : tables.leasesOf(own).length).toBe(20);
  connection.close();
});

it('a key that was put and deleted hundreds of times is returned at most twice', async () => {
  const store = await rig().open();
  const connection = new Tap().connect(rig().file);
  const tables = new Tables(connection, host());
  const before = tables.status().revision;
  const raw = rig().raw();
  for (let round = 0; round < 400; round += 1) {
    await store.compareAndSwap([{ key: 'a', expect: null, put: bytes('1') }], CALL);
    if (round < 399) raw.exec("DELETE FROM keys WHERE key = 'incumbent/a'");
  }
  expect(tables.since(before, false)).toHaveLength(2);
  connection.close();
});

it('the fingerprint of a long list is that of its rows, however high their revisions are', async () => {
  await rig().open();
  rig().raw().exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10100)
    INSERT INTO keys SELECT 'incumbent/g/' || i, x'', 900000000000 + i, 900000000000 + i, NULL FROM n`);
  const connection = new Tap().connect(rig().file);
  const tables = new Tables(connection, host());
  const rows = tables.list('incumbent/g', { values: false, before: NEWEST });
  expect(rows).toHaveLength(10_100);
  expect(tables.fingerprint('incumbent/g')).toEqual(fingerprintOf(rows));
  connection.close();
});

it.each([
  ['first', ['b', 'c']],
  ['last', ['b', 'd']],
] as const)('a list whose %s entry has ended, and is still in the file, returns the others', async (end, names) => {
  const store = await rig().open();
  const short = await store.grantLease(1_000, LEASE_CALL);
  const long = await store.grantLease(60_000, LEASE_CALL);
  const order = end === 'first' ? ['a', 'b', 'c', 'd'] : ['c', 'b', 'd', 'a'];
  for (const name of order) await store.enqueue('q', name, bytes(name), name === 'a' ? short.id : long.id, CALL);
  const listed = async (): Promise<readonly string[]> => (await store.list('q', { ...CALL, [end]: 2 })).map(({ name }) => name);
  expect(await listed()).toEqual(end === 'first' ? ['a', 'b'] : ['d', 'a']);
  rig().pass(1_000);
  expect(await listed()).toEqual(names);
});

it('the first entries of a queue are found without reading the leases of the others', async () => {
  await rig().open();
  const listing = { values: false, before: NEWEST, first: 2 };
  const plan = plansOf((tables) => tables.list('incumbent/q', listing));
  const [scan, lookup] = ['keys k|k USING INDEX', ' l '].map((part) => plan.findIndex((step) => new RegExp(part).test(step)));
  const sorted = plan.findIndex((step) => step.includes('TEMP B-TREE FOR ORDER BY'));
  expect([scan, sorted, lookup].every((at) => at !== undefined && at >= 0)).toBe(true);
  expect(sorted).toBeLessThan(lookup!);
});
