/** Sessions that are abandoned during a handshake. */

import { setImmediate as turn } from 'node:timers/promises';

import { expect, it } from 'vitest';

import { ZooKeeperSession } from '../../src/client/session.ts';
import { World } from '../support/fake-server.ts';

/** More microtasks than there are between a server's answer and an open session. */
const HOPS = 60;

/** Runs `task` after so many microtasks. */
function after(hops: number, task: () => void): void {
  if (hops === 0) task();
  else queueMicrotask(() => after(hops - 1, task));
}

/** A session that is abandoned so many microtasks after the n-th handshake was answered. */
function leaving(world: World, nth: number, hops: number): ZooKeeperSession {
  const session: ZooKeeperSession = new ZooKeeperSession(
    world.options({
      connect: async ({ port }) => {
        const socket = await world.servers[port - 1]!.accept();
        if (world.server.peers.length === nth) socket.once('data', () => after(hops, () => session.abandon()));
        return socket;
      },
    }),
  );
  return session;
}

it('a session that is abandoned at any moment of its opening leaves no connection', async () => {
  for (let hops = 0; hops < HOPS; hops += 1) {
    const world = new World();
    await Promise.allSettled([world.clock.run(leaving(world, 1, hops).open({ timeoutMs: 10_000 }))]);
    await turn();
    expect([hops, world.server.peer.socket.destroyed, world.clock.timers]).toEqual([hops, true, 0]);
  }
});

it('a session that is abandoned at any moment of a reconnection leaves no connection', async () => {
  for (let hops = 0; hops < HOPS; hops += 1) {
    const world = new World();
    await world.clock.run(leaving(world, 2, hops).open({ timeoutMs: 10_000 }));
    world.server.peer.reset();
    await turn();
    await world.clock.advance(1_000);
    await turn();
    expect([hops, world.server.peers.length, world.server.peer.socket.destroyed, world.clock.timers]).toEqual([hops, 2, true, 0]);
  }
});
