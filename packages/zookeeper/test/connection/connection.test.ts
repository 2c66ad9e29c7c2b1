/** One connection of a session: what it outlives, and what not. */

import { describe, expect, it } from 'vitest';

import { getData } from '../../src/protocol/nodes.ts';
import { silent, type Peer } from '../support/fake-server.ts';
import { answerSlowly, failureOf, SECOND, serving, write } from '../support/serving.ts';

describe('a server that', () => {
  it.each<readonly [string, (peer: Peer) => void]>([
    ['answers what nobody asked', (peer) => peer.reply(99)],
    ['sends a record that is cut short', (peer) => peer.send(new Uint8Array([0, 0]))],
    ['announces a negative length', (peer) => peer.raw(Buffer.from('fffffffe', 'hex'))],
    ['announces too much', (peer) => peer.raw(Buffer.from('7fffffff', 'hex'))],
    ['sends an event without an end', (peer) => peer.reply(-1, { body: new Uint8Array(3) })],
    ['answers to an identity that was not shown', (peer) => peer.reply(-4)],
  ])('%s loses the connection, and nothing else', async (_, misbehave) => {
    const { world, session } = await serving();
    misbehave(world.server.peer);
    await world.clock.advance(0);
    expect(world.told).toEqual(['connected zk:1', 'disconnected', 'reattached zk:1']);
    expect(world.events[1]).toMatchObject({ cause: { failure: { kind: 'malformed' } } });
    expect(await world.clock.run(write(session))).toMatchObject({ zxid: 101n });
    session.abandon();
  });

  it('sends an event of a kind that nobody knows, or a ping’s answer too many, loses nothing', async () => {
    const { world, session } = await serving();
    world.server.peer.event(4711, '/a');
    world.server.peer.event(-1, '');
    world.server.peer.reply(-2);
    await world.clock.advance(0);
    expect(world.told).toEqual(['connected zk:1']);
    session.abandon();
  });
});

describe('a link', () => {
  it('is pinged at a third of the session’s time, when nothing was sent for so long', async () => {
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
    expect(world.told).toEqual(['connected zk:1']);
    session.abandon();
  });

  it('that goes silent is dead after two thirds of the session’s time', async () => {
    const { world, session } = await serving(2);
    const [first, second] = world.servers;
    const lost = first!.peers.length > 0 ? first! : second!;
    lost.pongs = false;
    lost.answer = silent;
    const call = failureOf(write(session, 10 * SECOND));
    await world.clock.advance(3_999);
    expect(world.told).toHaveLength(1);
    await world.clock.advance(50);
    expect(world.told).toHaveLength(1);
    await world.clock.advance(1);
    expect(await world.clock.run(call)).toMatchObject({
      code: 'CONNECTION_LOST',
      outcome: 'unknown',
      message: expect.stringContaining('4050 ms'),
    });
    expect(world.told.slice(1)).toEqual(['disconnected', expect.stringContaining('reattached')]);
    session.abandon();
  });

  it('is not dead because this process stood still: the server gets the time to answer after it', async () => {
    const { world, session } = await serving();
    world.server.pongs = false;
    // A pause: the clock is past everything when the first timer runs, and what the server sent meanwhile has yet to be read.
    const monotonic = world.clock.monotonic.bind(world.clock);
    world.clock.monotonic = () => monotonic() + 5_000;
    await world.clock.advance(2_000);
    expect(world.server.peer.pings).toBe(1);
    await world.clock.advance(1_999);
    expect(world.told).toEqual(['connected zk:1']);
    world.server.peer.reply(-2);
    world.server.pongs = true;
    await world.clock.advance(6_000);
    expect(world.told).toEqual(['connected zk:1']);
    session.abandon();
  });

  it('is not dead because this process stood still with a call under way, whose answer has yet to be read', async () => {
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
    expect(world.told).toEqual(['connected zk:1']);
    session.abandon();
  });

  it('whose server answers pings and no calls lives', async () => {
    const { world, session } = await serving();
    world.server.answer = silent;
    const call = failureOf(write(session, 30 * SECOND));
    await world.clock.advance(29 * SECOND);
    expect(world.told).toEqual(['connected zk:1']);
    expect(await world.clock.run(call)).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    session.abandon();
  });

  it('on which a long answer arrives slowly lives, though nothing else arrives meanwhile', async () => {
    const { world, session } = await serving();
    answerSlowly(world, 20);
    const call = session.request(getData, { path: '/a' }, { timeoutMs: 30 * SECOND });
    await world.clock.advance(30 * SECOND);
    expect((await call).answer.data).toHaveLength(1_000_000);
    expect(world.told).toEqual(['connected zk:1']);
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
