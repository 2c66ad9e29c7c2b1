/** `read` and `list`. */

import { StoreError } from '@incumbent/core';
import { stall } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { Writer } from '../src/protocol/jute.ts';
import { multi, multiRead } from '../src/protocol/multi.ts';
import { closeSession, getChildren, getData } from '../src/protocol/nodes.ts';
import { agree, gone, type Greet, silent } from './support/fake-server.ts';
import { CALL, NOAUTH, settled, StoreWorld } from './support/store-world.ts';

describe('reads that start together', () => {
  it('do not fail because one of them is not permitted', async () => {
    const world = new StoreWorld();
    world.nodes.set('/ns/mine', { data: 'm' });
    world.nodes.set('/ns/theirs', { code: NOAUTH });
    const store = await world.open();
    const both = Promise.all([settled(store.read('mine', CALL)), settled(store.read('theirs', CALL))]);
    const [mine, theirs] = await world.clock.run(both);
    expect(theirs).toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(mine).toMatchObject({ key: 'mine' });
    await world.clock.run(store.close());
  });

  it('reject with a code if the server answers fewer of them', async () => {
    const world = new StoreWorld();
    world.nodes.set('/ns/mine', { data: 'm' });
    const store = await world.open();
    world.instead = ({ type, xid }, peer) => {
      if (type !== multiRead.type) return false;
      peer.reply(xid, { body: new Writer().int(-1).bool(true).int(-1).finish() });
      return true;
    };
    const both = Promise.all([settled(store.read('mine', CALL)), settled(store.read('other', CALL))]);
    const failed = { code: 'STORE_FAILED', outcome: 'unknown' };
    expect(await world.clock.run(both)).toMatchObject([failed, failed]);
    await world.clock.run(store.close());
  });

  it('are answered, however long their values are together', async () => {
    const world = new StoreWorld();
    const keys = Array.from({ length: 20 }, (_, nth) => `key-${nth}`);
    const store = await world.open();
    for (const key of keys) world.nodes.set(`/ns/${key}`, { data: 'x'.repeat(store.capabilities.maxValueBytes) });
    let barriers = 0;
    world.before = ({ type }) => (barriers += Number(type === multi.type));
    const entries = await world.clock.run(Promise.all(keys.map((key) => store.read(key, CALL))));
    expect(entries.map((entry) => entry?.value.length)).toEqual(keys.map(() => store.capabilities.maxValueBytes));
    expect(barriers).toBe(1);
    await world.clock.run(store.close());
  });

  it('keep the connection although one of them is not permitted', async () => {
    const world = new StoreWorld();
    world.nodes.set('/ns/mine', { data: 'm' });
    world.nodes.set('/ns/theirs', { code: NOAUTH });
    const store = await world.open();
    const before = world.server.peers.length;
    await world.clock.run(Promise.all([settled(store.read('mine', CALL)), settled(store.read('theirs', CALL))]));
    await world.clock.advance(1_000);
    expect(world.server.peers.length).toBe(before);
    await world.clock.run(store.close());
  });
});

describe('a list', () => {
  it('is one state of the store: of two keys that replace each other, it has one', async () => {
    const world = new StoreWorld();
    world.nodes.set('/ns/group', { data: null });
    world.nodes.set('/ns/group/a', { data: 'a' });
    const store = await world.open();
    let looked = false;
    // First b comes, then a goes, between the two requests of a list. At every moment there was one
    // of them.
    world.before = ({ type }) => {
      if (type === getData.type && looked) {
        world.nodes.set('/ns/group/b', { data: 'b' });
        world.nodes.delete('/ns/group/a');
      }
      if (type === getChildren.type) looked = true;
    };
    const entries = await world.clock.run(store.list('group', CALL));
    expect(entries.map(({ key }) => key)).not.toEqual([]);
    await world.clock.run(store.close());
  });
});

describe('a list of several levels', () => {
  /** Lists what is under a prefix, whose only key is moved right before that request. */
  async function listWhileMoved(from: string, to: string, request: number): Promise<readonly string[]> {
    const world = new StoreWorld();
    for (const folder of ['tree', 'tree/one', 'tree/two']) world.nodes.set(`/ns/${folder}`, { data: null });
    world.nodes.set(`/ns/${from}`, { data: 'k' });
    const store = await world.open();
    let reads = 0;
    world.before = ({ type }) => {
      reads += type === getData.type || type === getChildren.type || type === multiRead.type ? 1 : 0;
      if (reads !== request || !world.nodes.delete(`/ns/${from}`)) return;
      world.nodes.set(`/ns/${to}`, { data: 'k' });
    };
    const entries = await world.clock.run(store.list('tree', CALL));
    await world.clock.run(store.close());
    return entries.map(({ key }) => key);
  }

  const moves = [
    ['tree/one/key', 'tree/two/key'],
    ['tree/one/key', 'tree/key'],
    ['tree/key', 'tree/one/key'],
  ] as const;
  const cases = moves.flatMap(([from, to]) => [1, 2, 3, 4, 5, 6].map((request) => [from, to, request] as const));

  it.each(cases)('is one state of the store if %s becomes %s before request %i', async (from, to, request) => {
    expect([[from], [to]]).toContainEqual(await listWhileMoved(from, to, request));
  });
});

describe('a read without an answer', () => {
  it.each([
    ['a server that is silent', { code: 'TIMEOUT' }, () => {}],
    [
      'no server at all',
      { code: 'UNREACHABLE', outcome: 'notSent' },
      (world: StoreWorld) => {
        world.server.greet = silent;
        for (const peer of world.server.peers) peer.end();
      },
    ],
  ])('reports %s', async (_, expected, fault) => {
    const world = new StoreWorld();
    const store = await world.open();
    world.instead = () => true;
    fault(world);
    await new Promise((resolve) => void setImmediate(resolve));
    expect(await world.clock.run(settled(store.read('a', CALL)))).toMatchObject(expected);
    expect(await world.clock.run(settled(store.list('a', CALL)))).toMatchObject(expected);
    await world.clock.run(store.close());
  });
});

describe('a read that starts while there is no connection', () => {
  /** How a read fails at a store that is connected again 100 ms later, or never. */
  async function failureOfRead(reconnects: boolean): Promise<unknown> {
    const world = new StoreWorld();
    const store = await world.open();
    world.instead = () => true;
    world.server.accepts = 'refuse';
    for (const peer of world.server.peers) peer.end();
    await world.clock.advance(0);
    const read = settled(store.read('a', CALL));
    await world.clock.advance(100);
    if (reconnects) world.server.accepts = true;
    const failure = await world.clock.run(read);
    await world.clock.run(store.close());
    return failure;
  }

  it('has an unknown outcome once it was sent', async () => {
    expect(await failureOfRead(true)).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
  });

  it('was not sent if there is no connection in its time', async () => {
    expect(await failureOfRead(false)).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
  });
});

describe('a list whose names were read already', () => {
  it('rejects once if its time ends between any two reads of the clock, and leaves no unhandled rejection', async () => {
    const outcomes = new Set<unknown>();
    for (let reading = 1; reading <= 20; reading += 1) {
      const world = new StoreWorld();
      world.nodes.set('/ns/group', { data: null });
      world.nodes.set('/ns/group/a', { data: 'a' });
      const store = await world.open();
      let isListed = false;
      world.before = ({ type }) => (isListed ||= type === getChildren.type);
      world.instead = () => isListed;
      stall(world.clock, reading, CALL.timeoutMs);
      outcomes.add(await world.clock.run(settled(store.list('group', CALL))));
      // An unhandled rejection fails this run.
      await world.clock.run(store.close());
    }
    expect([...outcomes].filter((outcome) => !(outcome instanceof StoreError))).toEqual([]);
    expect(outcomes.size).toBe(20);
  });
});

describe('a list, which takes two steps,', () => {
  /** The types of what it asks for, where the connection has just been lost. */
  async function afterLoss(greet: Greet): Promise<readonly number[]> {
    const world = new StoreWorld();
    world.nodes.set('/ns/group', { data: null });
    world.nodes.set('/ns/group/a', { data: 'a' });
    const store = await world.open();
    const before = world.server.peers.length;
    world.server.greet = (hello, peer) => {
      world.server.greet = agree;
      greet(hello, peer);
    };
    for (const peer of world.server.peers) peer.end();
    await new Promise((resolve) => void setImmediate(resolve));
    const entries = await world.clock.run(store.list('group', CALL));
    expect(entries.map(({ key }) => key)).toEqual(['group/a']);
    await world.clock.run(store.close());
    return world.server.peers.slice(before).flatMap(({ types }) => types.filter((type) => type !== closeSession.type));
  }
  const [linearizable, sessionConsistent] = [[multi.type, getChildren.type], [multiRead.type]];

  it('needs no barrier for the second step on the same session, on any connection', async () => {
    expect(await afterLoss(agree)).toEqual([...linearizable, ...sessionConsistent]);
  });

  it('begins again on another session, which might see an older state', async () => {
    expect(await afterLoss(gone)).toEqual([...linearizable, ...sessionConsistent, ...linearizable, ...sessionConsistent]);
  });
});

describe('a long list', () => {
  it('is read in requests that servers accept', async () => {
    const world = new StoreWorld();
    world.nodes.set('/ns/many', { data: null });
    const names = Array.from({ length: 6_000 }, (_, i) => `${'x'.repeat(120)}-${i}`);
    for (const name of names) world.nodes.set(`/ns/many/${name}`, { data: name });
    const lengths: number[] = [];
    world.before = ({ type, body }) => {
      if (type === multiRead.type) lengths.push(body.left);
    };
    const store = await world.open();
    const entries = await world.clock.run(store.list('many', CALL));
    expect(entries.map(({ value }) => new TextDecoder().decode(value)).toSorted()).toEqual(names.toSorted());
    expect(lengths.length).toBeGreaterThan(1);
    expect(Math.max(...lengths)).toBeLessThan(1_000_000);
    await world.clock.run(store.close());
  });
});

describe('a list without values', () => {
  /** So many elections, whose leaders have long values, and a watch of the first leader. */
  async function elections(count: number, characters: number) {
    const world = new StoreWorld();
    world.nodes.set('/ns/elections', { data: null });
    for (let i = 0; i < count; i += 1) {
      const path = `/ns/elections/e${i}`;
      world.nodes.set(path, { data: null });
      world.nodes.set(`${path}/leader`, { data: 'x'.repeat(characters) });
      world.nodes.set(`${path}/candidates`, { data: null });
      world.nodes.set(`${path}/candidates/a.b~zf~0000000001`, { data: 'x'.repeat(characters), owner: 15n });
    }
    const store = await world.open();
    const stale: StoreError[] = [];
    const iterator = store.watch('elections/e1/leader', { onStale: (cause) => stale.push(cause) })[Symbol.asyncIterator]();
    await world.clock.run(iterator.next());
    const before = world.server.peers.length;
    return { world, store, stale, iterator, connections: () => world.server.peers.length - before };
  }

  it('is answered, however long its values are together, and leaves the watches alone', async () => {
    const { world, store, stale, iterator, connections } = await elections(900, 20_000);
    // No time passes meanwhile.
    const listed = await settled(store.list('elections', { values: false, ...CALL }));
    expect(listed).toHaveLength(1_800);
    expect([stale, connections()]).toEqual([[], 0]);
    await iterator.return?.();
    await world.clock.run(store.close());
  });

  it('reads no entry of a queue, at any depth', async () => {
    const { world, store, iterator } = await elections(2, 5);
    // A read of this entry would be refused.
    world.nodes.set('/ns/elections/e0/candidates/a.b~zf~0000000001', { code: NOAUTH });
    const listed = await world.clock.run(store.list('elections', { ...CALL, values: false }));
    expect(listed.map(({ key, name, value, revision, lease }) => [key, name, value.length, revision, lease])).toEqual([
      ['elections/e0/candidates/a.b~zf~0000000001', 'a.b', 0, '', 'f'],
      ['elections/e1/candidates/a.b~zf~0000000001', 'a.b', 0, '', 'f'],
      ['elections/e0/leader', 'leader', 0, '', undefined],
      ['elections/e1/leader', 'leader', 0, '', undefined],
    ]);
    await iterator.return?.();
    await world.clock.run(store.close());
  });
});
