/** Watches: whoever listens looks often enough, whatever becomes of connections and servers. */

import { describe, expect, it } from 'vitest';

import { sync } from '../../src/protocol/nodes.ts';
import { addWatch, removeWatch } from '../../src/protocol/watches.ts';
import { EventType, silent, World } from '../support/fake-server.ts';
import { listen, watched } from '../support/listening.ts';

describe('a watch', () => {
  it('tells to look when it stands, and not before', async () => {
    const { world, session, peer } = await watched();
    world.server.answer = silent;
    const { ear } = listen(session, '/a', 'tree');
    await world.clock.advance(100);
    expect([peer().types, ear.take()]).toEqual([[addWatch.type], []]);
    peer().reply(1);
    await world.clock.advance(0);
    expect(ear.take()).toEqual(['changed']);
    session.abandon();
  });

  it('of a node hears of that path, one of a tree of all below it, and neither of others', async () => {
    const { world, session, peer } = await watched();
    const ears = { node: listen(session, '/a').ear, tree: listen(session, '/a/b', 'tree').ear, all: listen(session, '/', 'tree').ear };
    await world.clock.advance(0);
    const heardOf = async (path: string): Promise<readonly string[]> => {
      for (const ear of Object.values(ears)) ear.take();
      peer().event(EventType.dataChanged, path);
      await world.clock.advance(0);
      return Object.entries(ears).flatMap(([name, ear]) => (ear.heard.length > 0 ? [name] : []));
    };
    expect(await heardOf('/a')).toEqual(['node', 'all']);
    expect(await heardOf('/a/b')).toEqual(['tree', 'all']);
    expect(await heardOf('/a/b/c/d')).toEqual(['tree', 'all']);
    expect(await heardOf('/a/bc')).toEqual(['all']);
    expect(await heardOf('/')).toEqual(['all']);
    session.abandon();
  });

  it('that many listen to is asked for once, and given up a second after the last of them', async () => {
    const { world, session, peer } = await watched();
    const [first, second] = [listen(session, '/a'), listen(session, '/a')];
    await world.clock.advance(0);
    const third = listen(session, '/a');
    await world.clock.advance(0);
    for (const { ear } of [first, second, third]) expect(ear.take()).toContain('changed');
    const asked = peer().types.length;
    first.stop();
    first.stop();
    second.stop();
    peer().event(EventType.dataChanged, '/a');
    await world.clock.advance(0);
    expect([first.ear.take(), second.ear.take(), third.ear.take()]).toEqual([[], [], ['changed']]);
    expect(peer().types).toHaveLength(asked);
    third.stop();
    await world.clock.advance(999);
    expect(peer().types).toHaveLength(asked);
    await world.clock.advance(1);
    expect(peer().types.at(-1)).toBe(removeWatch.type);
    peer().event(EventType.dataChanged, '/a');
    await world.clock.advance(0);
    expect(third.ear.take()).toEqual([]);
    session.abandon();
  });

  it('that somebody listens to again within that second is not asked for again', async () => {
    const { world, session, peer } = await watched();
    const first = listen(session, '/a');
    await world.clock.advance(0);
    const asked = peer().types.length;
    first.stop();
    await world.clock.advance(500);
    const second = listen(session, '/a');
    await world.clock.advance(10_000);
    expect(second.ear.take()).toEqual(['changed']);
    expect(peer().types.filter((type) => type !== sync.type)).toHaveLength(asked);
    session.abandon();
  });

  it('that nobody listens to is not made again on the next connection', async () => {
    const { world, session, peer } = await watched();
    const first = listen(session, '/a');
    await world.clock.advance(0);
    first.stop();
    peer().reset();
    await world.clock.advance(2_000);
    expect(peer().types.filter((type) => type !== sync.type)).toEqual([]);
    session.abandon();
    await world.clock.advance(0);
    expect(world.clock.timers).toBe(0);
  });

  it('that grows into one of a tree is one for all, for a path has one mode', async () => {
    const { world, session, peer } = await watched();
    const node = listen(session, '/a');
    await world.clock.advance(0);
    const tree = listen(session, '/a', 'tree');
    await world.clock.advance(0);
    const again = listen(session, '/a');
    await world.clock.advance(0);
    const modes = peer().requests.map(({ body }) => [body.string(), body.int()]);
    expect(modes).toEqual([
      ['/a', 0],
      ['/a', 1],
    ]);
    for (const { ear } of [node, tree, again]) expect(ear.take()).toContain('changed');
    session.abandon();
  });

  it('is stale with its connection, and stands again on the next one, where everybody looks', async () => {
    const { world, session, peer } = await watched();
    const ears = ['/a', '/b'].map((path) => listen(session, path).ear);
    await world.clock.advance(0);
    for (const ear of ears) ear.take();
    world.server.accepts = 'refuse';
    peer().reset();
    await world.clock.advance(0);
    for (const ear of ears) expect(ear.take()).toEqual(['stale']);
    world.server.accepts = true;
    await world.clock.advance(1_000);
    for (const ear of ears) expect(ear.take()).toEqual(['changed']);
    expect(world.server.peers.map(({ types }) => types)).toEqual([
      [addWatch.type, addWatch.type],
      [addWatch.type, addWatch.type],
    ]);
    session.abandon();
  });

  it('made while there is no connection stands on the next one', async () => {
    const { world, session, peer } = await watched();
    world.server.accepts = 'refuse';
    peer().reset();
    await world.clock.advance(0);
    const { ear } = listen(session, '/a');
    world.server.accepts = true;
    await world.clock.advance(1_000);
    expect(ear.take()).toEqual(['changed']);
    session.abandon();
  });

  it('whose connection is lost before it stands stands on the next one', async () => {
    const { world, session, peer } = await watched();
    world.server.answer = (_, one) => one.reset();
    const { ear } = listen(session, '/a');
    await world.clock.advance(0);
    world.server.answer = ({ xid }, one) => one.reply(xid);
    peer().reset();
    await world.clock.advance(1_000);
    expect(ear.take().at(-1)).toBe('changed');
    session.abandon();
  });

  it('that the server does not answer for loses the connection, and stands on the next one', async () => {
    const { world, session } = await watched();
    world.server.answer = silent;
    const { ear } = listen(session, '/a');
    await world.clock.advance(4_999);
    world.server.answer = ({ xid }, one) => one.reply(xid);
    expect(world.told).toHaveLength(1);
    await world.clock.advance(1);
    expect(world.told).toEqual(['connected zk:1', 'disconnected', 'reattached zk:1']);
    expect(ear.take()).toEqual(['stale', 'changed']);
    session.abandon();
  });

  it('that the server refuses has ended', async () => {
    const { world, session } = await watched();
    world.server.answer = ({ xid }, one) => one.reply(xid, { code: -102 });
    const { ear, stop } = listen(session, '/a');
    await world.clock.advance(0);
    expect(ear.take()).toEqual(['ended']);
    stop();
    session.abandon();
    expect(ear.take()).toEqual([]);
  });

  it.each([
    ['stands', 'changed'],
    ['has lost its connection', 'changed'],
    ['nobody listens any more', undefined],
    ['the session is over', 'ended'],
  ])('that the server will not have now is asked for again in a while: it %s', async (then, last) => {
    const { world, session, peer } = await watched();
    world.server.answer = ({ xid }, one) => one.reply(xid, { code: -127 });
    const { ear, stop } = listen(session, '/a');
    await world.clock.advance(0);
    expect(ear.take()).toEqual(['stale']);
    world.server.answer = ({ xid }, one) => one.reply(xid);
    if (then === 'has lost its connection') peer().reset();
    if (then === 'nobody listens any more') stop();
    if (then === 'the session is over') session.abandon();
    await world.clock.advance(5_000);
    expect(ear.take().at(-1)).toBe(last);
    session.abandon();
    expect(world.clock.timers).toBe(0);
  });

  it('ends with the session; one that comes too late, at once', async () => {
    const { world, session } = await watched();
    const { ear, stop } = listen(session, '/a');
    await world.clock.advance(0);
    ear.take();
    session.abandon();
    expect(ear.take()).toEqual(['ended']);
    stop();
    const late = listen(session, '/a');
    await world.clock.advance(0);
    expect(late.ear.take()).toEqual(['ended']);
  });

  it('of a lasting session goes over to the one that follows', async () => {
    const world = new World();
    const session = await world.open({ lasting: true });
    const { ear } = listen(session, '/a');
    await world.clock.advance(0);
    world.server.accepts = 'refuse';
    world.server.peer.reset();
    await world.clock.advance(10_000);
    expect(world.told.at(-1)).toBe('expired by clock');
    expect(ear.take()).toEqual(['changed', 'stale']);
    world.server.accepts = true;
    await world.clock.advance(1_000);
    expect(ear.take()).toEqual(['changed']);
    session.abandon();
  });
});
