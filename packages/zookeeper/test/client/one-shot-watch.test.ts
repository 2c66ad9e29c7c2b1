/** Watches on servers before 3.6, where a watch ends after one event. */

import { describe, expect, it } from 'vitest';

import { getChildren, getData } from '../../src/protocol/nodes.ts';
import type { WatchMode } from '../../src/protocol/watches.ts';
import { recordWatch, watched } from '../support/watch-recorder.ts';
import { OldServer } from '../support/old-server.ts';

async function old(nodes: readonly string[], mode: WatchMode = 'tree') {
  const { world, session } = await watched();
  const server = new OldServer(world.server);
  for (const node of nodes) server.nodes.add(node);
  const { recorder, stop } = recordWatch(session, '/a', mode);
  await world.clock.advance(1_000);
  /** Runs the task, and returns how many changes were reported. */
  const after = async (task: () => void): Promise<number> => {
    recorder.take();
    task();
    await world.clock.advance(0);
    return recorder.take().filter((word) => word === 'changed').length;
  };
  return { world, session, server, recorder, stop, after };
}

describe('a watch on a server before 3.6', () => {
  it('is set after the server has closed the connection over a request that it does not know', async () => {
    const { world, session, recorder } = await old(['/a']);
    expect(world.eventNames).toEqual(['connected zk:1', 'disconnected', 'reattached zk:1']);
    expect(recorder.take()).toEqual(['stale', 'changed']);
    session.abandon();
  });

  it('reports every change in its tree, again and again', async () => {
    const { session, server, after } = await old(['/a', '/a/b', '/a/b/c']);
    for (let round = 0; round < 3; round += 1) {
      for (const path of ['/a', '/a/b', '/a/b/c']) expect(await after(() => server.change(path))).toBeGreaterThan(0);
      for (const path of ['/a/b/d', '/a/b/d/e']) {
        expect(await after(() => server.create(path))).toBeGreaterThan(0);
        expect(await after(() => server.change(path))).toBeGreaterThan(0);
      }
      for (const path of ['/a/b/d/e', '/a/b/d']) expect(await after(() => server.delete(path))).toBeGreaterThan(0);
      expect(await after(() => server.change('/x'))).toBe(0);
    }
    session.abandon();
  });

  it('reads new nodes alone when a node is created', async () => {
    const { session, server, after } = await old(['/a', ...Array.from({ length: 50 }, (_, i) => `/a/${i}`)]);
    server.asked.splice(0);
    await after(() => server.create('/a/new'));
    expect(server.asked.toSorted()).toEqual([`${getChildren.type} /a`, `${getChildren.type} /a/new`, `${getData.type} /a/new`].toSorted());
    session.abandon();
  });

  it('reports that the root is created, deleted and created again', async () => {
    const { session, server, after } = await old([]);
    const changes = [() => server.create('/a'), () => server.create('/a/b'), () => server.delete('/a/b'), () => server.delete('/a')];
    for (const change of [...changes, ...changes, ...changes]) expect(await after(change)).toBeGreaterThan(0);
    session.abandon();
  });

  it('of one node reports changes of that node alone', async () => {
    const { session, server, after } = await old(['/a', '/a/b'], 'node');
    for (let round = 0; round < 3; round += 1) {
      expect(await after(() => server.change('/a'))).toBe(1);
      expect(await after(() => server.change('/a/b'))).toBe(0);
      expect(await after(() => server.delete('/a'))).toBe(1);
      expect(await after(() => server.create('/a'))).toBe(1);
    }
    session.abandon();
  });

  it('reports changes of a node that was deleted and created again at once', async () => {
    const { session, server, after } = await old(['/a', '/a/b']);
    await after(() => {
      server.delete('/a/b');
      server.create('/a/b');
    });
    expect(await after(() => server.change('/a/b'))).toBeGreaterThan(0);
    session.abandon();
  });

  it('is set again after a lost connection, and leaves no watch for deleted nodes', async () => {
    const { world, session, server, recorder, after } = await old(['/a', '/a/b']);
    recorder.take();
    server.nodes.delete('/a/b');
    server.nodes.add('/a/c');
    world.server.peer.reset();
    await world.clock.advance(1_000);
    expect(recorder.take()).toEqual(['stale', 'changed']);
    expect([...server.data].toSorted()).toEqual(['/a', '/a/c']);
    expect(await after(() => server.change('/a/c'))).toBe(1);
    session.abandon();
  });
});
