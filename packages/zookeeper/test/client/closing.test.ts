/** The end of a session by whoever has it, at whatever moment. */

import { describe, expect, it } from 'vitest';

import { closeSession } from '../../src/protocol/nodes.ts';
import { ZooKeeperSession, type SessionEvent } from '../../src/client/session.ts';
import { silent, welcome, World } from '../support/fake-server.ts';
import { failureOf, SECOND, serving, write } from '../support/serving.ts';

describe('closing', () => {
  it('ends the session on the servers, and tells of no loss', async () => {
    const { world, session } = await serving();
    await world.clock.run(session.close({ timeoutMs: SECOND }));
    expect(world.server.peer.types).toEqual([closeSession.type]);
    expect(world.told).toEqual(['connected zk:1', 'closed']);
    await session.close({ timeoutMs: SECOND });
    expect(await failureOf(write(session))).toMatchObject({ code: 'STORE_CLOSED', outcome: 'notSent' });
    await world.clock.advance(60_000);
    expect([world.server.peers.length, world.clock.timers, world.clock.holds]).toEqual([1, 0, 0]);
  });

  it('twice at once is closing once', async () => {
    const { world, session } = await serving();
    await world.clock.run(Promise.all([session.close({ timeoutMs: SECOND }), session.close({ timeoutMs: SECOND })]));
    expect(world.told).toEqual(['connected zk:1', 'closed']);
  });

  it('whose answer is lost is unknown; asked again, the server knows no session, and that is closed', async () => {
    const { world, session } = await serving();
    world.server.answer = (_, peer) => peer.reset();
    world.server.greet = (_, peer) => peer.send(welcome(0, 0n));
    expect(await world.clock.run(failureOf(session.close({ timeoutMs: SECOND })))).toMatchObject({ outcome: 'unknown' });
    await world.clock.run(session.close({ timeoutMs: SECOND }));
    expect(world.told).toEqual(['connected zk:1', 'disconnected', 'expired by server']);
  });

  it('without an answer is bounded', async () => {
    const { world, session } = await serving();
    world.server.answer = silent;
    const failure = await world.clock.run(failureOf(session.close({ timeoutMs: 500 })));
    expect(failure).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    expect(session.over).toBe(false);
    session.abandon();
  });

  it('ends what is under way, as what it is', async () => {
    const { world, session } = await serving();
    world.server.answer = silent;
    const sent = failureOf(write(session));
    await world.clock.advance(0);
    session.abandon();
    expect(await sent).toMatchObject({ code: 'STORE_CLOSED', outcome: 'unknown' });
  });

  it('ends what waits, which was not sent', async () => {
    const { world, session } = await serving();
    world.server.accepts = 'refuse';
    world.server.peer.reset();
    await world.clock.advance(0);
    const waiting = failureOf(write(session));
    session.abandon();
    expect(await waiting).toMatchObject({ code: 'STORE_CLOSED', outcome: 'notSent' });
    await world.clock.advance(60_000);
    expect([world.told, world.clock.timers, world.clock.holds]).toEqual([['connected zk:1', 'disconnected', 'closed'], 0, 0]);
  });

  const stages: readonly (readonly [string, (world: World, session: ZooKeeperSession) => Promise<void>])[] = [
    ['before it is opened', async () => {}],
    [
      'while it connects',
      async (world, session) => {
        world.server.accepts = 'ignore';
        begin(session);
        await world.clock.advance(10);
      },
    ],
    [
      'while it shakes hands',
      async (world, session) => {
        world.server.greet = silent;
        begin(session);
        await world.clock.advance(10);
      },
    ],
    [
      'while it is connected',
      async (world, session) => {
        begin(session);
        await world.clock.advance(10);
      },
    ],
    [
      'while it looks for another server',
      async (world, session) => {
        begin(session);
        await world.clock.advance(10);
        world.server.accepts = 'ignore';
        world.server.peer.reset();
        await world.clock.advance(100);
      },
    ],
    [
      'while it pauses',
      async (world, session) => {
        begin(session);
        await world.clock.advance(10);
        world.server.accepts = 'refuse';
        world.server.peer.reset();
        await world.clock.advance(10);
      },
    ],
    [
      'while it takes the session over',
      async (world, session) => {
        begin(session);
        await world.clock.advance(10);
        world.server.greet = silent;
        world.server.peer.reset();
        await world.clock.advance(10);
      },
    ],
  ];

  function begin(session: ZooKeeperSession): void {
    void session.open({ timeoutMs: 10_000 }).catch(() => {});
  }

  it.each(stages)('%s leaves nothing', async (_, reach) => {
    for (const end of ['abandon', 'close'] as const) {
      const world = new World();
      const session = new ZooKeeperSession(world.options());
      await reach(world, session);
      if (end === 'close') await world.clock.run(failureOf(session.close({ timeoutMs: 200 })));
      session.abandon();
      await world.clock.advance(0);
      expect([world.clock.timers, world.clock.holds]).toEqual([0, 0]);
      expect(world.server.peers.filter(({ socket }) => !socket.destroyed)).toEqual([]);
      const told: readonly SessionEvent['type'][] = world.events.map(({ type }) => type);
      expect(told.filter((type) => type === 'closed')).toHaveLength(1);
      await world.clock.advance(60_000);
      expect(world.events).toHaveLength(told.length);
    }
  });
});
