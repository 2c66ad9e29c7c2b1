/** The sessions of one store. */

import { describe, expect, it } from 'vitest';

import { toStoreError } from '../../src/errors.ts';
import { openClient, type Client, type ClientOptions } from '../../src/client/client.ts';
import { closeSession, remove } from '../../src/protocol/nodes.ts';
import type { SessionEvent } from '../../src/client/session.ts';
import { gone, PASSWORD, silent, World } from '../support/fake-server.ts';
import { counting, write } from '../support/serving.ts';

const CALL = { timeoutMs: 1_000 };

function optionsIn(world: World): ClientOptions {
  const { onEvent, ...options } = world.options();
  return options;
}

async function open(): Promise<{ world: World; client: Client }> {
  const world = new World();
  return { world, client: await world.clock.run(openClient(optionsIn(world), CALL)) };
}

describe('a client', () => {
  it('has one shared session, and opens separate ones', async () => {
    const { world, client } = await open();
    const own = await client.openSession({ timeoutMs: 4_000 }, CALL);
    expect(own.identity?.id).not.toBe(client.shared.identity?.id);
    expect(world.server.peers.map(({ hello }) => hello?.timeoutMs)).toEqual([6_000, 4_000]);
    await world.clock.run(client.close());
  });

  it('takes over a session whose identity is known', async () => {
    const { world, client } = await open();
    const own = await client.openSession({ timeoutMs: 4_000 }, CALL);
    own.abandon();
    const again = await client.openSession({ timeoutMs: 4_000, identity: own.identity! }, CALL);
    expect(again.identity).toEqual(own.identity);
    await world.clock.run(client.close());
  });

  it('does not open if no server can be reached', async () => {
    const world = new World();
    world.server.accepts = 'refuse';
    const failure = await world.clock.run(openClient(optionsIn(world), CALL).catch((error: unknown) => toStoreError(error, 'open')));
    expect(failure).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
    expect([world.clock.timers, world.clock.holds]).toEqual([0, 0]);
  });

  it('ends a session with the last transaction that any of its sessions has seen', async () => {
    const { world, client } = await open();
    const ended = { identity: { id: 5n, password: PASSWORD }, lastZxid: 7n };
    const seen = async (): Promise<bigint | undefined> => {
      await world.clock.run(client.endSession(ended, CALL));
      return world.server.peer.hello?.lastZxid;
    };
    expect(await seen()).toBe(7n);
    world.server.answer = counting();
    await world.clock.run(write(client.shared));
    expect(await seen()).toBe(101n);
    const own = await client.openSession({ timeoutMs: 4_000 }, CALL);
    await world.clock.run(write(own));
    expect(await seen()).toBe(own.lastZxid);
    expect(own.lastZxid).toBeGreaterThan(client.shared.lastZxid);
    await world.clock.run(client.close());
  });

  it('ends a call that ends another session when it closes', async () => {
    const { world, client } = await open();
    world.server.accepts = 'ignore';
    const ending = client
      .endSession({ identity: { id: 5n, password: PASSWORD }, lastZxid: 0n }, { timeoutMs: 30_000 })
      .catch((error: unknown) => error);
    await world.clock.advance(0);
    await world.clock.run(client.close());
    expect(toStoreError(await world.clock.run(ending), 'revokeLease')).toMatchObject({ code: 'STORE_CLOSED', outcome: 'unknown' });
    expect([world.clock.timers, world.clock.holds]).toEqual([0, 0]);
  });

  it('replaces its shared session when that expires, and no other', async () => {
    const { world, client } = await open();
    const events: SessionEvent[] = [];
    const own = await client.openSession({ timeoutMs: 6_000, onEvent: (event) => void events.push(event) }, CALL);
    world.server.accepts = 'refuse';
    for (const peer of world.server.peers) peer.reset();
    await world.clock.advance(6_000);
    world.server.accepts = true;
    await world.clock.advance(1_000);
    expect(own.over).toBe(true);
    expect(events.map(({ type }) => type)).toEqual(['connected', 'disconnected', 'expired']);
    expect(client.shared.over).toBe(false);
    const removed = client.shared.request(remove, { path: '/a', version: 0 }, CALL);
    expect(await world.clock.run(removed)).toEqual({ zxid: 1n, answer: undefined });
    await world.clock.run(client.close());
  });
});

describe('closing a client', () => {
  it('ends the shared session on the servers, and leaves the others to their timeouts', async () => {
    const { world, client } = await open();
    const own = await client.openSession({ timeoutMs: 4_000 }, CALL);
    await world.clock.run(Promise.all([client.close(), client.close()]));
    expect(world.server.peers.map(({ types }) => types)).toEqual([[closeSession.type], []]);
    expect([own.over, client.shared.over]).toEqual([true, true]);
    await world.clock.advance(0);
    expect(world.server.peers.every(({ socket }) => socket.destroyed)).toBe(true);
    expect([world.clock.timers, world.clock.holds]).toEqual([0, 0]);
    await expect(client.openSession({ timeoutMs: 4_000 }, CALL)).rejects.toMatchObject({ failure: { kind: 'closed', sent: false } });
  });

  it('waits at most 500 ms for a server that does not answer', async () => {
    const { world, client } = await open();
    world.server.answer = silent;
    await world.clock.run(client.close());
    expect(world.clock.monotonic()).toBe(500);
    expect([world.clock.timers, world.clock.holds]).toEqual([0, 0]);
  });

  it('ends a session that is being opened', async () => {
    const { world, client } = await open();
    world.server.greet = silent;
    const opening = client.openSession({ timeoutMs: 4_000 }, CALL).catch((error: unknown) => toStoreError(error, 'open'));
    await world.clock.advance(10);
    await world.clock.run(client.close());
    expect(await opening).toMatchObject({ code: 'STORE_CLOSED', outcome: 'notSent' });
    await world.clock.advance(0);
    expect(world.server.peers.every(({ socket }) => socket.destroyed)).toBe(true);
    expect(world.clock.timers).toBe(0);
  });

  it('forgets a session that is over or that never opened', async () => {
    const { world, client } = await open();
    world.server.greet = gone;
    const identity = { id: 5n, password: new Uint8Array(16) };
    const failure = await client.openSession({ timeoutMs: 4_000, identity }, CALL).catch((error: unknown) => toStoreError(error, 'open'));
    expect(failure).toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    await world.clock.run(client.close());
  });
});
