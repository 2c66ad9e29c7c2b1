import { TestCluster } from '@incumbent/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { DocumentKey } from '../../src/ui/documents.ts';
import { UiModel } from '../../src/ui/model.ts';

const LEAD = { ttlMs: 10_000 } as const;

let cluster: TestCluster;
let model: UiModel;

beforeEach(() => {
  cluster = new TestCluster();
  model = newModel();
});
afterEach(async () => {
  await cluster.run(model.close());
  await cluster.close();
});

function newModel(): UiModel {
  const { store, options } = cluster.process('ui');
  const { clock, random } = options;
  const given = { ...(clock === undefined ? {} : { clock }), ...(random === undefined ? {} : { random }) };
  return new UiModel(store, { url: 'memory:', version: '0.1.0', operate: false, ...given });
}

// A test compares its parts.
function json(key: DocumentKey): Readonly<Record<string, unknown>> | undefined {
  const text = model.board.json(key);
  return text === undefined ? undefined : Object(JSON.parse(text));
}

/** Since when the store is away, as the document of the store says. */
function awaySince(): string {
  return /"away":.*"since":(\d+)/.exec(model.board.json('store') ?? '')?.[1] ?? 'never';
}

function ends(): readonly unknown[] {
  const all: unknown = JSON.parse(model.board.json('ends') ?? '[]');
  return Array.isArray(all) ? all : [];
}

describe('the model of the page', () => {
  it('shows an election a few seconds after its first candidate has joined', async () => {
    await cluster.advance(0);
    expect(json('store')).toMatchObject({ listed: true, hidden: 0 });
    expect(json('election/db')).toBeUndefined();
    await cluster.run(cluster.member('a', LEAD).election('db').campaign());
    await cluster.advance(6_000);
    expect(json('election/db')).toMatchObject({ state: 'leader', member: 'a', term: '1', isOlder: true });
  });

  it('measures a vacancy from the expiry of the lease to the next leader, and records the end', async () => {
    await cluster.run(cluster.member('a', LEAD).election('db').campaign());
    await cluster.advance(6_000);
    cluster.crash('a');
    await cluster.advance(30_000);
    expect(json('election/db')).toMatchObject({ state: 'vacant', reason: 'expired', ends: 1 });
    expect(ends()).toMatchObject([{ election: 'db', term: '1', member: 'a', reason: 'expired' }]);
    await cluster.run(cluster.member('b', LEAD).election('db').campaign());
    await cluster.advance(0);
    expect(json('election/db')).toMatchObject({ state: 'leader', member: 'b', term: '2', isOlder: false });
    expect(ends()).toMatchObject([{ term: '1', next: { term: '2', member: 'b' } }]);
    expect(ends()).toHaveLength(1);
  });

  it('has one watch for each election, whatever the number of viewers', async () => {
    const member = cluster.member('m', LEAD);
    for (const name of ['a', 'b', 'c']) await cluster.run(member.election(name).campaign());
    await cluster.advance(6_000);
    const { open } = cluster.server.watches;
    const leave = Array.from({ length: 50 }, () => model.join());
    await cluster.advance(1_000);
    expect(cluster.server.watches.open).toBe(open);
    for (const each of leave) each();
  });

  it('watches a queue once while somebody has it open, and shows it in order', async () => {
    await cluster.run(
      cluster
        .member('a', LEAD)
        .election('db', { value: { port: 1 } })
        .campaign(),
    );
    await cluster.advance(6_000);
    const { open } = cluster.server.watches;
    const leave = Array.from({ length: 50 }, () => model.join('queue/db'));
    await cluster.advance(1_000);
    expect(cluster.server.watches.open).toBe(open + 1);
    cluster
      .member('b', LEAD)
      .election('db')
      .campaign()
      .catch(() => {});
    await cluster.advance(1_000);
    expect(json('queue/db')).toMatchObject({
      total: 2,
      candidates: [
        { member: 'a', state: 'leads', value: '{"port":1}' },
        { member: 'b', state: 'waits' },
      ],
    });
    const opened = cluster.server.watches.open;
    for (const each of leave) each();
    await cluster.advance(100);
    expect(cluster.server.watches.open).toBe(opened - 1);
    expect(json('queue/db')).toBeUndefined();
  });

  it('lists groups, and shows the members of an opened one', async () => {
    await cluster.run(cluster.member('a', LEAD).group('brokers', { value: 'x' }).join());
    const leave = model.join('members/brokers');
    await cluster.advance(6_000);
    expect(json('group/brokers')).toEqual({ members: 1 });
    expect(json('members/brokers')).toMatchObject({ total: 1, members: [{ member: 'a', value: '"x"' }] });
    leave();
  });

  it('says since when the store is away, keeps what it has seen, and goes on when the store is back', async () => {
    await cluster.run(cluster.member('a', LEAD).election('db').campaign());
    await cluster.advance(6_000);
    cluster.cutOff('ui');
    await cluster.advance(10_000);
    expect(json('store')?.['away']).toMatchObject({ code: expect.any(String), since: expect.any(Number) });
    const since = awaySince();
    expect(json('election/db')).toMatchObject({ state: 'unknown', member: 'a', term: '1' });
    await cluster.advance(20_000);
    expect(awaySince()).toBe(since);
    cluster.heal('ui');
    await cluster.advance(40_000);
    expect(json('store')?.['away']).toBeUndefined();
    expect(json('election/db')).toMatchObject({ state: 'leader', member: 'a', term: '1' });
    expect(ends()).toEqual([]);
  });

  it('shows an election that cannot be read, beside those that can', async () => {
    const member = cluster.member('a', LEAD);
    await cluster.run(member.election('good').campaign());
    await cluster.run(member.election('bad').campaign());
    cluster.server.put('elections/bad/leader', new TextEncoder().encode('{"other":"program"}'));
    await cluster.advance(6_000);
    expect(json('election/bad')).toMatchObject({ state: 'unreadable', error: { code: 'FOREIGN_DATA' } });
    expect(json('election/good')).toMatchObject({ state: 'leader' });
  });

  it('does not show the scratch keys of a doctor', async () => {
    const { store } = cluster.process('doctor');
    await store.compareAndSwap([{ key: 'elections/doctor-0123456789ab/term', expect: null, put: new Uint8Array() }]);
    await cluster.advance(6_000);
    expect(json('store')).toMatchObject({ listed: true });
    expect(json('election/doctor-0123456789ab')).toBeUndefined();
  });

  it('checks the store when the first viewer comes, by reading only, and again while one is there', async () => {
    const before = cluster.server.requests;
    const leave = model.join();
    await cluster.advance(100);
    const first = Number(json('health')?.['checkedAt']);
    expect(json('health')).toMatchObject({ running: false, writes: false });
    await cluster.advance(31_000);
    expect(Number(json('health')?.['checkedAt'])).toBeGreaterThan(first);
    const { compareAndSwap, enqueue, grantLease } = cluster.server.requests;
    expect({ compareAndSwap, enqueue, grantLease }).toEqual({
      compareAndSwap: before.compareAndSwap,
      enqueue: before.enqueue,
      grantLease: before.grantLease,
    });
    leave();
    const last = json('health')?.['checkedAt'];
    await cluster.advance(60_000);
    expect(json('health')?.['checkedAt']).toBe(last);
  });

  it('leaves nothing behind when it is closed', async () => {
    await cluster.run(cluster.member('a', LEAD).election('db').campaign());
    model.join('queue/db');
    await cluster.advance(6_000);
    await cluster.run(model.close());
    const { open } = cluster.server.watches;
    await cluster.advance(1_000);
    model = newModel();
    await cluster.run(model.close());
    expect(cluster.server.watches.open).toBe(open);
  });
});
