/** Listeners are told to read often enough, whatever happens to connections and servers. */

import { describe, expect, it } from 'vitest';

import { sync } from '../../src/protocol/nodes.ts';
import { addWatch, removeWatch } from '../../src/protocol/watches.ts';
import { EventType, silent, World } from '../support/fake-server.ts';
import { recordWatch, watched } from '../support/watch-recorder.ts';

describe('a watch', () => {
  it('tells its listener to read once the server has set it, and not before', async () => {
    const { world, session, peer } = await watched();
    world.server.answer = silent;
    const { recorder } = recordWatch(session, '/a', 'tree');
    await world.clock.advance(100);
    expect([peer().types, recorder.take()]).toEqual([[addWatch.type], []]);
    peer().reply(1);
    await world.clock.advance(0);
    expect(recorder.take()).toEqual(['changed']);
    session.abandon();
  });

  it('of a node reports that path, one of a tree everything below it, and neither other paths', async () => {
    const { world, session, peer } = await watched();
    const recorders = {
      node: recordWatch(session, '/a').recorder,
      tree: recordWatch(session, '/a/b', 'tree').recorder,
      all: recordWatch(session, '/', 'tree').recorder,
    };
    await world.clock.advance(0);
    const heardOf = async (path: string): Promise<readonly string[]> => {
      for (const recorder of Object.values(recorders)) recorder.take();
      peer().event(EventType.dataChanged, path);
      await world.clock.advance(0);
      return Object.entries(recorders).flatMap(([name, recorder]) => (recorder.calls.length > 0 ? [name] : []));
    };
    expect(await heardOf('/a')).toEqual(['node', 'all']);
    expect(await heardOf('/a/b')).toEqual(['tree', 'all']);
    expect(await heardOf('/a/b/c/d')).toEqual(['tree', 'all']);
    expect(await heardOf('/a/bc')).toEqual(['all']);
    expect(await heardOf('/')).toEqual(['all']);
    session.abandon();
  });

  it('with many listeners is set once, and removed a second after the last one has left', async () => {
    const { world, session, peer } = await watched();
    const [first, second] = [recordWatch(session, '/a'), recordWatch(session, '/a')];
    await world.clock.advance(0);
    const third = recordWatch(session, '/a');
    await world.clock.advance(0);
    for (const { recorder } of [first, second, third]) expect(recorder.take()).toContain('changed');
    const asked = peer().types.length;
    first.stop();
    first.stop();
    second.stop();
    peer().event(EventType.dataChanged, '/a');
    await world.clock.advance(0);
    expect([first.recorder.take(), second.recorder.take(), third.recorder.take()]).toEqual([[], [], ['changed']]);
    expect(peer().types).toHaveLength(asked);
    third.stop();
    await world.clock.advance(999);
    expect(peer().types).toHaveLength(asked);
    await world.clock.advance(1);
    expect(peer().types.at(-1)).toBe(removeWatch.type);
    peer().event(EventType.dataChanged, '/a');
    await world.clock.advance(0);
    expect(third.recorder.take()).toEqual([]);
    session.abandon();
  });

  it('that gets a listener again within that second is not set again', async () => {
    const { world, session, peer } = await watched();
    const first = recordWatch(session, '/a');
    await world.clock.advance(0);
    const asked = peer().types.length;
    first.stop();
    await world.clock.advance(500);
    const second = recordWatch(session, '/a');
    await world.clock.advance(10_000);
    expect(second.recorder.take()).toEqual(['changed']);
    expect(peer().types.filter((type) => type !== sync.type)).toHaveLength(asked);
    session.abandon();
  });

  it('without listeners is not set again on the next connection', async () => {
    const { world, session, peer } = await watched();
    const first = recordWatch(session, '/a');
    await world.clock.advance(0);
    first.stop();
    peer().reset();
    await world.clock.advance(2_000);
    expect(peer().types.filter((type) => type !== sync.type)).toEqual([]);
    session.abandon();
    await world.clock.advance(0);
    expect(world.clock.timers).toBe(0);
  });

  it('that becomes one of a tree does so for all listeners, because a path has one mode', async () => {
    const { world, session, peer } = await watched();
    const node = recordWatch(session, '/a');
    await world.clock.advance(0);
    const tree = recordWatch(session, '/a', 'tree');
    await world.clock.advance(0);
    const again = recordWatch(session, '/a');
    await world.clock.advance(0);
    const modes = peer().requests.map(({ body }) => [body.string(), body.int()]);
    expect(modes).toEqual([
      ['/a', 0],
      ['/a', 1],
    ]);
    for (const { recorder } of [node, tree, again]) expect(recorder.take()).toContain('changed');
    session.abandon();
  });

  it('is stale after a lost connection, and set again on the next one, where every listener reads', async () => {
    const { world, session, peer } = await watched();
    const recorders = ['/a', '/b'].map((path) => recordWatch(session, path).recorder);
    await world.clock.advance(0);
    for (const recorder of recorders) recorder.take();
    world.server.accepts = 'refuse';
    peer().reset();
    await world.clock.advance(0);
    for (const recorder of recorders) expect(recorder.take()).toEqual(['stale']);
    world.server.accepts = true;
    await world.clock.advance(1_000);
    for (const recorder of recorders) expect(recorder.take()).toEqual(['changed']);
    expect(world.server.peers.map(({ types }) => types)).toEqual([
      [addWatch.type, addWatch.type],
      [addWatch.type, addWatch.type],
    ]);
    session.abandon();
  });

  it('without a connection is set on the next one', async () => {
    const { world, session, peer } = await watched();
    world.server.accepts = 'refuse';
    peer().reset();
    await world.clock.advance(0);
    const { recorder } = recordWatch(session, '/a');
    world.server.accepts = true;
    await world.clock.advance(1_000);
    expect(recorder.take()).toEqual(['changed']);
    session.abandon();
  });

  it('whose connection is lost before it is set is set on the next one', async () => {
    const { world, session, peer } = await watched();
    world.server.answer = (_, one) => one.reset();
    const { recorder } = recordWatch(session, '/a');
    await world.clock.advance(0);
    world.server.answer = ({ xid }, one) => one.reply(xid);
    peer().reset();
    await world.clock.advance(1_000);
    expect(recorder.take().at(-1)).toBe('changed');
    session.abandon();
  });

  it('that the server does not answer ends the connection, and is set on the next one', async () => {
    const { world, session } = await watched();
    world.server.answer = silent;
    const { recorder } = recordWatch(session, '/a');
    await world.clock.advance(4_999);
    world.server.answer = ({ xid }, one) => one.reply(xid);
    expect(world.eventNames).toHaveLength(1);
    await world.clock.advance(1);
    expect(world.eventNames).toEqual(['connected zk:1', 'disconnected', 'reattached zk:1']);
    expect(recorder.take()).toEqual(['stale', 'changed']);
    session.abandon();
  });

  it('that the server refuses ends', async () => {
    const { world, session } = await watched();
    world.server.answer = ({ xid }, one) => one.reply(xid, { code: -102 });
    const { recorder, stop } = recordWatch(session, '/a');
    await world.clock.advance(0);
    expect(recorder.take()).toEqual(['ended']);
    stop();
    session.abandon();
    expect(recorder.take()).toEqual([]);
  });

  it.each([
    ['is set', 'changed'],
    ['has lost its connection', 'changed'],
    ['has no listeners left', undefined],
    ['the session is over', 'ended'],
  ])('that the server cannot set now is tried again: it %s', async (then, last) => {
    const { world, session, peer } = await watched();
    world.server.answer = ({ xid }, one) => one.reply(xid, { code: -127 });
    const { recorder, stop } = recordWatch(session, '/a');
    await world.clock.advance(0);
    expect(recorder.take()).toEqual(['stale']);
    world.server.answer = ({ xid }, one) => one.reply(xid);
    if (then === 'has lost its connection') peer().reset();
    if (then === 'has no listeners left') stop();
    if (then === 'the session is over') session.abandon();
    await world.clock.advance(5_000);
    expect(recorder.take().at(-1)).toBe(last);
    session.abandon();
    expect(world.clock.timers).toBe(0);
  });

  it('ends with the session; a later one ends at once', async () => {
    const { world, session } = await watched();
    const { recorder, stop } = recordWatch(session, '/a');
    await world.clock.advance(0);
    recorder.take();
    session.abandon();
    expect(recorder.take()).toEqual(['ended']);
    stop();
    const late = recordWatch(session, '/a');
    await world.clock.advance(0);
    expect(late.recorder.take()).toEqual(['ended']);
  });

  it('of a lasting session continues on the next session', async () => {
    const world = new World();
    const session = await world.open({ lasting: true });
    const { recorder } = recordWatch(session, '/a');
    await world.clock.advance(0);
    world.server.accepts = 'refuse';
    world.server.peer.reset();
    await world.clock.advance(10_000);
    expect(world.eventNames.at(-1)).toBe('expired by clock');
    expect(recorder.take()).toEqual(['changed', 'stale']);
    world.server.accepts = true;
    await world.clock.advance(1_000);
    expect(recorder.take()).toEqual(['changed']);
    session.abandon();
  });
});
