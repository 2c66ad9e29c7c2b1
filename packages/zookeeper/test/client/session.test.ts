/** A session that moves to another server, and the end of its time. */

import { describe, expect, it } from 'vitest';

import { closeSession } from '../../src/protocol/nodes.ts';
import { agree, type Answer, gone, ok, PASSWORD, silent, welcome, World } from '../support/fake-server.ts';
import { counting, failureOf, SECOND, serving, write } from '../support/serving.ts';

describe('a session whose connection is lost', () => {
  it('goes on at another server, with its identity and the last transaction that it has seen', async () => {
    const { world, session } = await serving(2);
    await world.clock.run(write(session));
    const before = session.endpoint!;
    const { identity } = session;
    const lost = world.servers[before.port - 1]!;
    lost.accepts = 'refuse';
    lost.peer.reset();
    await world.clock.advance(0);
    expect(session.endpoint).not.toEqual(before);
    expect(session.identity).toEqual(identity);
    const other = world.servers[session.endpoint!.port - 1]!;
    expect(other.peer.hello).toMatchObject({ id: identity!.id, password: PASSWORD, lastZxid: 101n });
    session.abandon();
  });

  it('leaves a server that was silent for the whole time of a call, and makes the next call at another', async () => {
    const { world, session } = await serving(2);
    const before = session.endpoint!;
    world.servers[before.port - 1]!.answer = () => {};
    expect(await world.clock.run(failureOf(write(session)))).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    await world.clock.advance(100);
    expect(await world.clock.run(write(session))).toBeDefined();
    expect(session.endpoint).not.toEqual(before);
    session.abandon();
  });

  it('stays at a server that sends something while a call waits, or just after', async () => {
    const { world, session } = await serving(2);
    const before = session.endpoint!;
    const server = world.servers[before.port - 1]!;
    const asked: Parameters<Answer>[] = [];
    server.answer = (...call) => void asked.push(call);
    const slow = failureOf(write(session, 300));
    await world.clock.advance(310);
    for (const call of asked) counting()(...call);
    expect(await world.clock.run(slow)).toMatchObject({ code: 'TIMEOUT' });
    await world.clock.advance(SECOND);
    expect([session.endpoint, server.peers.length]).toEqual([before, 1]);
    session.abandon();
  });

  it('does not leave a server because a call was aborted', async () => {
    const { world, session } = await serving(2);
    const before = session.endpoint!;
    world.servers[before.port - 1]!.answer = () => {};
    const caller = new AbortController();
    const call = write(session, SECOND, caller.signal).catch(() => {});
    caller.abort(new Error('enough'));
    await call;
    await world.clock.advance(SECOND);
    expect(session.endpoint).toEqual(before);
    session.abandon();
  });

  it('does not reconnect without pauses to a server that accepts and closes connections', async () => {
    const { world, session } = await serving();
    world.server.answer = (_, peer) => peer.reset();
    session.watch('/a', 'node', { changed: () => {}, stale: () => {}, ended: () => {} });
    await world.clock.advance(10_000);
    expect(world.server.peers.length).toBeGreaterThan(15);
    expect(world.server.peers.length).toBeLessThan(40);
    session.abandon();
  });

  it('tries the server that it lost after all others', async () => {
    const { world, session } = await serving(3);
    for (let round = 0; round < 10; round += 1) {
      await world.clock.advance(1_000);
      const before = session.endpoint!;
      world.servers[before.port - 1]!.peer.reset();
      await world.clock.advance(0);
      expect(session.endpoint).not.toEqual(before);
    }
    session.abandon();
  });

  it('shows its identities again', async () => {
    const world = new World();
    const session = await world.open({ auths: [{ scheme: 'digest', auth: 'ann:secret' }] });
    world.server.peer.reset();
    await world.clock.advance(0);
    expect(world.server.peers.map(({ types }) => types)).toEqual([[100], [100]]);
    session.abandon();
  });

  it('tries again with pauses, and is given up when its time is over', async () => {
    const { world, session } = await serving();
    let attempts = 0;
    await world.clock.advance(1_000);
    await world.clock.run(write(session));
    const { accept } = world.server;
    world.server.accept = function counted() {
      attempts += 1;
      return accept.call(this);
    };
    world.server.accepts = 'refuse';
    world.server.peer.reset();
    // From the sending of what was last answered: at 1,000.
    await world.clock.advance(5_999);
    expect(session.over).toBe(false);
    await world.clock.advance(1);
    expect(world.eventNames).toEqual(['connected zk:1', 'disconnected', 'expired by clock']);
    expect(session.over).toBe(true);
    // The servers may keep the session, so its identity stays known for ending it.
    expect(session.identity).toBeDefined();
    expect(attempts).toBeGreaterThan(10);
    expect(attempts).toBeLessThan(40);
    expect(world.clock.timers).toBe(0);
    expect(await failureOf(write(session))).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
  });

  it.each([false, true])('and whose time ended during a pause of this process rejects sent calls as cut (lasting: %s)', async (lasting) => {
    const { world, session } = await serving(1, { lasting });
    world.server.answer = silent;
    const calls = [failureOf(write(session, 60 * SECOND)), failureOf(write(session, 60 * SECOND))];
    await world.clock.advance(0);
    const monotonic = world.clock.monotonic.bind(world.clock);
    world.clock.monotonic = () => monotonic() + 10 * SECOND;
    world.server.accepts = 'refuse';
    world.server.peer.reset();
    await world.clock.advance(0);
    // The session is given up in the same turn. That must not decide how these calls reject.
    expect(world.eventNames).toEqual(['connected zk:1', 'disconnected', 'expired by clock']);
    for (const call of calls) expect(await call).toMatchObject({ code: 'CONNECTION_LOST', outcome: 'unknown' });
    session.abandon();
  });

  it('is given up during an attempt too', async () => {
    const { world, session } = await serving();
    world.server.greet = silent;
    world.server.peer.reset();
    await world.clock.advance(6_000);
    expect(world.eventNames.at(-1)).toBe('expired by clock');
    await world.clock.advance(0);
    expect(world.server.peers.every(({ socket }) => socket.destroyed)).toBe(true);
    expect([world.clock.timers, session.over]).toEqual([0, true]);
  });

  it('has time to try every server, although some are silent or unreachable', async () => {
    const { world, session } = await serving(4);
    const lost = world.servers[session.endpoint!.port - 1]!;
    const others = world.servers.filter((server) => server !== lost);
    others[0]!.greet = silent;
    others[1]!.accepts = 'ignore';
    lost.accepts = 'ignore';
    lost.peer.reset();
    await world.clock.advance(5_000);
    expect(world.servers[session.endpoint!.port - 1]).toBe(others[2]);
    session.abandon();
  });

  it('has time for another server after a silent one, with any timeout per server', async () => {
    const world = new World(3);
    const session = await world.open({ connectTimeoutMs: 60_000, handshakeTimeoutMs: 60_000 });
    const lost = session.endpoint!;
    let greeted = 0;
    for (const server of world.servers) {
      server.greet = (hello, peer) => {
        greeted += 1;
        if (greeted > 1) agree(hello, peer);
      };
    }
    world.servers[lost.port - 1]!.accepts = 'ignore';
    world.servers[lost.port - 1]!.peer.reset();
    await world.clock.advance(1_999);
    expect([greeted, world.eventNames.at(-1)]).toEqual([1, 'disconnected']);
    await world.clock.advance(1);
    expect(world.eventNames.at(-1)).toContain('reattached');
    session.abandon();
  });

  it('has expired when a server says so, and waiting calls reject as not sent', async () => {
    const { world, session } = await serving();
    world.server.greet = gone;
    world.server.accepts = 'refuse';
    world.server.peer.reset();
    await world.clock.advance(0);
    const waiting = failureOf(write(session));
    world.server.accepts = true;
    expect(await world.clock.run(waiting)).toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    expect(world.eventNames).toEqual(['connected zk:1', 'disconnected', 'expired by server']);
    await session.close({ timeoutMs: SECOND });
    expect(world.clock.timers).toBe(0);
  });

  it('fails when a server no longer accepts its identity', async () => {
    const world = new World();
    const session = await world.open({ auths: [{ scheme: 'digest', auth: 'ann:secret' }] });
    world.server.authCode = -115;
    world.server.peer.reset();
    await world.clock.advance(0);
    expect(world.eventNames).toEqual(['connected zk:1', 'disconnected', 'failed']);
    expect(await failureOf(write(session))).toMatchObject({ code: 'UNAUTHENTICATED', outcome: 'refused' });
  });

  it('survives a server that rejects it until the server has caught up', async () => {
    const { world, session } = await serving();
    world.server.greet = (_, peer) => peer.end();
    world.server.peer.reset();
    await world.clock.advance(2_000);
    world.server.greet = agree;
    await world.clock.advance(1_000);
    expect(world.eventNames).toEqual(['connected zk:1', 'disconnected', 'reattached zk:1']);
    session.abandon();
  });
});

describe('a lasting session', () => {
  it('that a server has declared expired is followed by a new one, which has seen no transaction', async () => {
    const world = new World();
    const session = await world.open({ lasting: true });
    world.server.answer = counting();
    await world.clock.run(write(session));
    world.server.greet = (hello, peer) => (hello.id === 0n ? agree(hello, peer) : peer.send(welcome(0, 0n)));
    const before = session.identity!.id;
    world.server.peer.reset();
    await world.clock.advance(100);
    expect(world.eventNames).toEqual(['connected zk:1', 'disconnected', 'expired by server', 'connected zk:1']);
    expect(session.identity!.id).not.toBe(before);
    expect(world.server.peer.hello?.lastZxid).toBe(0n);
    expect(await world.clock.run(write(session))).toMatchObject({ zxid: 102n });
    session.abandon();
  });

  it('waits for servers without a limit', async () => {
    const world = new World();
    const session = await world.open({ lasting: true });
    world.server.answer = counting();
    world.server.accepts = 'refuse';
    world.server.peer.reset();
    await world.clock.advance(3_600_000);
    expect(world.eventNames).toEqual(['connected zk:1', 'disconnected', 'expired by clock']);
    world.server.accepts = true;
    expect(await world.clock.run(write(session))).toMatchObject({ zxid: 101n });
    session.abandon();
    await world.clock.advance(0);
    expect(world.clock.timers).toBe(0);
  });
});

describe('a session that is known by its identity', () => {
  it('can be taken over and ended by another client', async () => {
    const world = new World();
    world.server.answer = ok;
    const own = await world.open();
    const identity = own.identity!;
    own.abandon();
    const other = await world.open({ identity });
    expect(world.server.peer.hello).toMatchObject({ id: identity.id, password: identity.password });
    await world.clock.run(other.close({ timeoutMs: SECOND }));
    expect(world.server.peer.types).toEqual([closeSession.type]);
  });
});
