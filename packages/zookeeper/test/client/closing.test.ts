/** `close` and `abandon`, at every moment of a session. */

import { describe, expect, it } from 'vitest';

import { closeSession } from '../../src/protocol/nodes.ts';
import { ZooKeeperSession, type SessionEvent } from '../../src/client/session.ts';
import { type FakeServer, silent, welcome, World } from '../support/fake-server.ts';
import { failureOf, SECOND, serving, write } from '../support/serving.ts';

describe('closing', () => {
  it('ends the session on the servers, and reports no loss', async () => {
    const { world, session } = await serving();
    await world.clock.run(session.close({ timeoutMs: SECOND }));
    expect(world.server.peer.types).toEqual([closeSession.type]);
    expect(world.eventNames).toEqual(['connected zk:1', 'closed']);
    await session.close({ timeoutMs: SECOND });
    expect(await failureOf(write(session))).toMatchObject({ code: 'STORE_CLOSED', outcome: 'notSent' });
    await world.clock.advance(60_000);
    expect([world.server.peers.length, world.clock.timers, world.clock.holds]).toEqual([1, 0, 0]);
  });

  it('twice at the same time closes once', async () => {
    const { world, session } = await serving();
    await world.clock.run(Promise.all([session.close({ timeoutMs: SECOND }), session.close({ timeoutMs: SECOND })]));
    expect(world.eventNames).toEqual(['connected zk:1', 'closed']);
  });

  it('whose answer is lost has an unknown outcome; the next call finds the session closed', async () => {
    const { world, session } = await serving();
    world.server.answer = (_, peer) => peer.reset();
    world.server.greet = (_, peer) => peer.send(welcome(0, 0n));
    expect(await world.clock.run(failureOf(session.close({ timeoutMs: SECOND })))).toMatchObject({ outcome: 'unknown' });
    await world.clock.run(session.close({ timeoutMs: SECOND }));
    expect(world.eventNames).toEqual(['connected zk:1', 'disconnected', 'expired by server']);
  });

  it('takes a bounded time without an answer', async () => {
    const { world, session } = await serving();
    world.server.answer = silent;
    const failure = await world.clock.run(failureOf(session.close({ timeoutMs: 500 })));
    expect(failure).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    expect(session.over).toBe(false);
    session.abandon();
  });

  it('ends calls under way with their true outcomes', async () => {
    const { world, session } = await serving();
    world.server.answer = silent;
    const sent = failureOf(write(session));
    await world.clock.advance(0);
    session.abandon();
    expect(await sent).toMatchObject({ code: 'STORE_CLOSED', outcome: 'unknown' });
  });

  it('ends waiting calls as not sent', async () => {
    const { world, session } = await serving();
    world.server.accepts = 'refuse';
    world.server.peer.reset();
    await world.clock.advance(0);
    const waiting = failureOf(write(session));
    session.abandon();
    expect(await waiting).toMatchObject({ code: 'STORE_CLOSED', outcome: 'notSent' });
    await world.clock.advance(60_000);
    expect([world.eventNames, world.clock.timers, world.clock.holds]).toEqual([['connected zk:1', 'disconnected', 'closed'], 0, 0]);
  });

  type Stage = (world: World, session: ZooKeeperSession) => Promise<void>;

  /** Opens the session, or begins to, and then does something to its server. */
  function opened(then: (server: FakeServer) => void): Stage {
    return async (world, session) => {
      begin(session);
      await world.clock.advance(10);
      then(world.server);
      await world.clock.advance(10);
    };
  }

  /** Begins to open the session at a server that was prepared before. */
  function opening(prepare: (server: FakeServer) => void): Stage {
    return async (world, session) => {
      prepare(world.server);
      begin(session);
      await world.clock.advance(10);
    };
  }

  /** Cuts the connection after the server was prepared for the next one. */
  function cut(prepare: (server: FakeServer) => void): Stage {
    return opened((server) => {
      prepare(server);
      server.peer.reset();
    });
  }

  const stages: readonly (readonly [string, Stage])[] = [
    ['before it is opened', async () => {}],
    ['while it connects', opening((server) => void (server.accepts = 'ignore'))],
    ['while it shakes hands', opening((server) => void (server.greet = silent))],
    ['while it is connected', opened(() => {})],
    ['while it looks for another server', cut((server) => void (server.accepts = 'ignore'))],
    ['while it pauses', cut((server) => void (server.accepts = 'refuse'))],
    ['while it takes the session over', cut((server) => void (server.greet = silent))],
  ];

  function begin(session: ZooKeeperSession): void {
    void session.open({ timeoutMs: 10_000 }).catch(() => {});
  }

  it.each(stages)('%s leaves no timer and no socket', async (_, reach) => {
    for (const end of ['abandon', 'close'] as const) {
      const world = new World();
      const session = new ZooKeeperSession(world.options());
      await reach(world, session);
      if (end === 'close') await world.clock.run(failureOf(session.close({ timeoutMs: 200 })));
      session.abandon();
      await world.clock.advance(0);
      expect([world.clock.timers, world.clock.holds]).toEqual([0, 0]);
      expect(world.server.peers.filter(({ socket }) => !socket.destroyed)).toEqual([]);
      const types: readonly SessionEvent['type'][] = world.events.map(({ type }) => type);
      expect(types.filter((type) => type === 'closed')).toHaveLength(1);
      await world.clock.advance(60_000);
      expect(world.events).toHaveLength(types.length);
    }
  });
});
