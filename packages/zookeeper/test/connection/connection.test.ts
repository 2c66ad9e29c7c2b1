/** What ends one connection of a session, and what does not. */

import { describe, expect, it } from 'vitest';

import { frame } from '../../src/protocol/frame.ts';
import { Writer } from '../../src/protocol/jute.ts';
import { getData } from '../../src/protocol/nodes.ts';
import { silent, type Peer } from '../support/fake-server.ts';
import { answerSlowly, failureOf, SECOND, serving, SYNCED, write } from '../support/serving.ts';

describe('a server that', () => {
  it.each<readonly [string, (peer: Peer) => void]>([
    ['answers a request that was not sent', (peer) => peer.reply(99)],
    ['sends a truncated record', (peer) => peer.send(new Uint8Array([0, 0]))],
    ['announces a negative length', (peer) => peer.raw(Buffer.from('fffffffe', 'hex'))],
    ['announces too much', (peer) => peer.raw(Buffer.from('7fffffff', 'hex'))],
    ['sends a truncated event', (peer) => peer.reply(-1, { body: new Uint8Array(3) })],
    ['answers to an identity that was not shown', (peer) => peer.reply(-4)],
  ])('%s loses the connection, and not the session', async (_, misbehave) => {
    const { world, session } = await serving();
    misbehave(world.server.peer);
    await world.clock.advance(0);
    expect(world.eventNames).toEqual(['connected zk:1', 'disconnected', 'reattached zk:1']);
    expect(world.events[1]).toMatchObject({ cause: { failure: { kind: 'malformed' } } });
    expect(await world.clock.run(write(session))).toMatchObject({ zxid: 101n });
    session.abandon();
  });

  it('sends an unknown kind of event, or one pong too many, keeps the connection', async () => {
    const { world, session } = await serving();
    world.server.peer.event(4711, '/a');
    world.server.peer.event(-1, '');
    world.server.peer.reply(-2);
    await world.clock.advance(0);
    expect(world.eventNames).toEqual(['connected zk:1']);
    session.abandon();
  });
});

describe('a link', () => {
  it('is pinged when nothing was sent for a third of the session’s timeout', async () => {
    const { world, session } = await serving();
    await world.clock.advance(1_999);
    expect(world.server.peer.pings).toBe(0);
    await world.clock.advance(1);
    expect(world.server.peer.pings).toBe(1);
    await world.clock.advance(1_000);
    await world.clock.run(write(session));
    await world.clock.advance(1_999);
    expect(world.server.peer.pings).toBe(1);
    await world.clock.advance(60_000);
    expect(world.server.peer.pings).toBe(31);
    expect(world.eventNames).toEqual(['connected zk:1']);
    session.abandon();
  });

  it('that is silent for two thirds of the session’s timeout is dead', async () => {
    const { world, session } = await serving(2);
    const [first, second] = world.servers;
    const lost = first!.peers.length > 0 ? first! : second!;
    lost.pongs = false;
    lost.answer = silent;
    const call = failureOf(write(session, 10 * SECOND));
    await world.clock.advance(3_999);
    expect(world.eventNames).toHaveLength(1);
    await world.clock.advance(50);
    expect(world.eventNames).toHaveLength(1);
    await world.clock.advance(1);
    expect(await world.clock.run(call)).toMatchObject({
      code: 'CONNECTION_LOST',
      outcome: 'unknown',
      message: expect.stringContaining('4050 ms'),
    });
    expect(world.eventNames.slice(1)).toEqual(['disconnected', expect.stringContaining('reattached')]);
    session.abandon();
  });

  it('is not dead after a pause of this process: the server gets time to answer', async () => {
    const { world, session } = await serving();
    world.server.pongs = false;
    // A pause: the clock is past everything when the first timer runs, and what the server sent
    // meanwhile has yet to be read.
    const monotonic = world.clock.monotonic.bind(world.clock);
    world.clock.monotonic = () => monotonic() + 5_000;
    await world.clock.advance(2_000);
    expect(world.server.peer.pings).toBe(1);
    await world.clock.advance(1_999);
    expect(world.eventNames).toEqual(['connected zk:1']);
    world.server.peer.reply(-2);
    world.server.pongs = true;
    await world.clock.advance(6_000);
    expect(world.eventNames).toEqual(['connected zk:1']);
    session.abandon();
  });

  it('is not dead after a pause of this process during a call whose answer was not read yet', async () => {
    const { world, session } = await serving();
    const { server } = world;
    const { answer } = server;
    server.pongs = false;
    let reply = (): void => {};
    server.answer = (request, peer) => {
      reply = () => answer(request, peer);
    };
    const call = write(session, 30 * SECOND);
    await world.clock.advance(1);
    // The timer runs first, and then what has come is read.
    await world.clock.advance(3_999);
    server.answer = answer;
    server.pongs = true;
    reply();
    server.peer.reply(-2);
    await world.clock.run(call);
    await world.clock.advance(6_000);
    expect(world.eventNames).toEqual(['connected zk:1']);
    session.abandon();
  });

  it('whose server answers pings and no calls is alive', async () => {
    const { world, session } = await serving();
    world.server.answer = silent;
    const call = failureOf(write(session, 30 * SECOND));
    await world.clock.advance(29 * SECOND);
    expect(world.eventNames).toEqual(['connected zk:1']);
    expect(await world.clock.run(call)).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    session.abandon();
  });

  it('on which a long answer arrives slowly is alive, although nothing else arrives', async () => {
    const { world, session } = await serving();
    answerSlowly(world, 20);
    const call = session.request(getData, { path: '/a' }, { timeoutMs: 30 * SECOND });
    await world.clock.advance(30 * SECOND);
    expect((await call).answer.data).toHaveLength(1_000_000);
    expect(world.eventNames).toEqual(['connected zk:1']);
    session.abandon();
  });

  it('on which one record has been arriving for more than 30 s is dead', async () => {
    const { world, session } = await serving();
    answerSlowly(world, 300);
    const call = failureOf(session.request(getData, { path: '/a' }, { timeoutMs: 300 * SECOND }));
    await world.clock.advance(40 * SECOND);
    expect(await call).toMatchObject({ code: 'CONNECTION_LOST', outcome: 'unknown' });
    session.abandon();
  });
});

describe('a link that keeps a lease', () => {
  it.each([
    ['stops in the middle of a reply', 1],
    ['sends a reply one byte at a time', Infinity],
  ])('is left after one failed call when its server %s', async (_, bytes) => {
    const { world, session } = await serving(2, { quiet: true });
    const slow = world.servers.find(({ peers }) => peers.length > 0)!;
    slow.answer = ({ xid }, peer) => {
      const reply = frame(new Writer().int(xid).long(1n).int(0).raw(SYNCED).finish());
      const sendFrom = (at: number): void => {
        if (at === Math.min(bytes, reply.length)) return;
        world.clock.schedule(100, () => {
          peer.raw(reply.subarray(at, at + 1));
          sendFrom(at + 1);
        });
      };
      sendFrom(0);
    };
    expect(await world.clock.run(failureOf(write(session)))).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    await world.clock.advance(51);
    expect(world.eventNames.slice(1)).toEqual(['disconnected', expect.stringContaining('reattached')]);
    expect(await world.clock.run(write(session))).toMatchObject({ zxid: 101n });
    session.abandon();
  });
});
