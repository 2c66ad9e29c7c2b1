/** Watches that are gone after one event: whoever listens hears of the next one, too. */

import { describe, expect, it } from 'vitest';

import { getChildren, getData } from '../../src/protocol/nodes.ts';
import type { WatchMode } from '../../src/protocol/watches.ts';
import { listen, watched } from '../support/listening.ts';
import { OldServer } from '../support/old-server.ts';

async function old(nodes: readonly string[], mode: WatchMode = 'tree') {
  const { world, session } = await watched();
  const server = new OldServer(world.server);
  for (const node of nodes) server.nodes.add(node);
  const { ear, stop } = listen(session, '/a', mode);
  await world.clock.advance(1_000);
  /** Does it, and answers what was heard. */
  const after = async (task: () => void): Promise<number> => {
    ear.take();
    task();
    await world.clock.advance(0);
    return ear.take().filter((word) => word === 'changed').length;
  };
  return { world, session, server, ear, stop, after };
}

describe('a watch on a server before 3.6', () => {
  it('stands after the server has ended the connection over what it does not know', async () => {
    const { world, session, ear } = await old(['/a']);
    expect(world.told).toEqual(['connected zk:1', 'disconnected', 'reattached zk:1']);
    expect(ear.take()).toEqual(['stale', 'changed']);
    session.abandon();
  });

  it('hears of everything in its tree, again and again', async () => {
    const { session, server, after } = await old(['/a', '/a/b', '/a/b/c']);
    for (let round = 0; round < 3; round += 1) {
      for (const path of ['/a', '/a/b', '/a/b/c']) expect(await after(() => server.change(path))).toBeGreaterThan(0);
      expect(await after(() => server.create('/a/b/d'))).toBeGreaterThan(0);
      expect(await after(() => server.change('/a/b/d'))).toBeGreaterThan(0);
      expect(await after(() => server.create('/a/b/d/e'))).toBeGreaterThan(0);
      expect(await after(() => server.change('/a/b/d/e'))).toBeGreaterThan(0);
      expect(await after(() => server.delete('/a/b/d/e'))).toBeGreaterThan(0);
      expect(await after(() => server.delete('/a/b/d'))).toBeGreaterThan(0);
      expect(await after(() => server.change('/x'))).toBe(0);
    }
    session.abandon();
  });

  it('looks at new nodes only, when one comes', async () => {
    const { session, server, after } = await old(['/a', ...Array.from({ length: 50 }, (_, i) => `/a/${i}`)]);
    server.asked.splice(0);
    await after(() => server.create('/a/new'));
    expect(server.asked.toSorted()).toEqual([`${getChildren.type} /a`, `${getChildren.type} /a/new`, `${getData.type} /a/new`].toSorted());
    session.abandon();
  });

  it('hears of the root’s making, its end, and its making again', async () => {
    const { session, server, after } = await old([]);
    for (let round = 0; round < 3; round += 1) {
      expect(await after(() => server.create('/a'))).toBeGreaterThan(0);
      expect(await after(() => server.create('/a/b'))).toBeGreaterThan(0);
      expect(await after(() => server.delete('/a/b'))).toBeGreaterThan(0);
      expect(await after(() => server.delete('/a'))).toBeGreaterThan(0);
    }
    session.abandon();
  });

  it('of one node hears of that node', async () => {
    const { session, server, after } = await old(['/a', '/a/b'], 'node');
    for (let round = 0; round < 3; round += 1) {
      expect(await after(() => server.change('/a'))).toBe(1);
      expect(await after(() => server.change('/a/b'))).toBe(0);
      expect(await after(() => server.delete('/a'))).toBe(1);
      expect(await after(() => server.create('/a'))).toBe(1);
    }
    session.abandon();
  });

  it('hears of a node that is deleted and made again at once', async () => {
    const { session, server, after } = await old(['/a', '/a/b']);
    await after(() => {
      server.delete('/a/b');
      server.create('/a/b');
    });
    expect(await after(() => server.change('/a/b'))).toBeGreaterThan(0);
    session.abandon();
  });

  it('stands again after a lost connection, and leaves no watch for what is no more', async () => {
    const { world, session, server, ear, after } = await old(['/a', '/a/b']);
    ear.take();
    server.nodes.delete('/a/b');
    server.nodes.add('/a/c');
    world.server.peer.reset();
    await world.clock.advance(1_000);
    expect(ear.take()).toEqual(['stale', 'changed']);
    expect([...server.data].toSorted()).toEqual(['/a', '/a/c']);
    expect(await after(() => server.change('/a/c'))).toBe(1);
    session.abandon();
  });
});
