/** One session over its connections: what becomes of calls, and of the session. */

import { describe, expect, it } from 'vitest';

import type { Outcome } from '@incumbent/core';

import { toStoreError } from '../../src/errors.ts';
import { Writer } from '../../src/wire/jute.ts';
import { closeSession, getData, setData, sync } from '../../src/wire/nodes.ts';
import { Session, type SessionEvent } from '../../src/wire/session.ts';
import { writeStat } from '../../src/wire/stat.ts';
import { agree, gone, ok, PASSWORD, silent, welcome, World, type Peer } from './fake-server.ts';

const SECOND = 1_000;

function write(session: Session, timeoutMs = SECOND, signal?: AbortSignal) {
  const options = signal === undefined ? { timeoutMs } : { timeoutMs, signal };
  return session.request(sync, '/', options);
}

/** How a call failed, as the adapter will say it. */
async function failureOf(call: Promise<unknown>): Promise<{ code: string; outcome: Outcome; message: string } | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    return toStoreError(error, 'call');
  }
}

const answered = new Writer().string('/').finish();

/** Answers every call as `sync` is answered, with zxids that count up. */
function counting() {
  let zxid = 100n;
  return ({ xid, type }: { xid: number; type: number }, peer: Peer): void => {
    zxid += 1n;
    peer.reply(xid, { zxid, body: type === closeSession.type ? new Uint8Array() : answered });
    if (type === closeSession.type) peer.end();
  };
}

async function serving(servers = 1): Promise<{ world: World; session: Session; failures: unknown[] }> {
  const world = new World(servers);
  for (const server of world.servers) server.answer = counting();
  return { world, session: await world.open(), failures: [] };
}

describe('a call', () => {
  it('is answered with what the server said, and its transaction', async () => {
    const { world, session } = await serving();
    expect(await world.clock.run(write(session))).toEqual({ zxid: 101n, answer: undefined });
    session.abandon();
  });

  it('takes answers in the order of the calls', async () => {
    const { world, session } = await serving();
    const zxids = await world.clock.run(Promise.all([write(session), write(session), write(session)]));
    expect(zxids.map(({ zxid }) => zxid)).toEqual([101n, 102n, 103n]);
    expect(world.server.peer.requests.map(({ xid }) => xid)).toEqual([1, 2, 3]);
    session.abandon();
  });

  it.each([
    ['NODEEXISTS', -110, 'STORE_FAILED', 'refused'],
    ['NOAUTH', -102, 'PERMISSION_DENIED', 'refused'],
    ['SESSIONEXPIRED', -112, 'LEASE_EXPIRED', 'refused'],
    ['SESSIONMOVED', -118, 'CONNECTION_LOST', 'notSent'],
    ['THROTTLEDOP', -127, 'UNAVAILABLE', 'notSent'],
    ['SYSTEMERROR', -1, 'STORE_FAILED', 'unknown'],
    ['OPERATIONTIMEOUT', -7, 'UNAVAILABLE', 'unknown'],
    ['code -4711', -4711, 'STORE_FAILED', 'unknown'],
    ['code 12', 12, 'STORE_FAILED', 'unknown'],
  ])('answered with %s is an error, and the connection stays', async (name, code, error, outcome) => {
    const { world, session } = await serving();
    world.server.answer = ({ xid }, peer) => peer.reply(xid, { code });
    const failure = await world.clock.run(failureOf(write(session)));
    expect(failure).toMatchObject({ code: error, outcome, message: `zookeeper call: the server answered ${name}` });
    expect(world.told).toEqual(['connected zk:1']);
    session.abandon();
  });

  it('that is not answered in its time is unknown', async () => {
    const { world, session } = await serving();
    world.server.answer = silent;
    expect(await world.clock.run(failureOf(write(session, 500)))).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    expect(world.told).toEqual(['connected zk:1']);
    session.abandon();
  });

  it('is never given the answer to another: a server that answers out of turn loses the connection', async () => {
    const { world, session } = await serving();
    world.server.answer = silent;
    const [first, second] = [failureOf(write(session)), failureOf(write(session))];
    await world.clock.advance(0);
    world.server.peer.reply(2, { body: answered });
    for (const call of [first, second]) expect(await world.clock.run(call)).toMatchObject({ code: 'STORE_FAILED', outcome: 'unknown' });
    await world.clock.advance(0);
    expect(world.told).toEqual(['connected zk:1', 'disconnected', 'reattached zk:1']);
    session.abandon();
  });

  it('whose answer comes late does no harm to those after it', async () => {
    const { world, session } = await serving();
    const { peer } = world.server;
    world.server.answer = silent;
    await world.clock.run(failureOf(write(session, 500)));
    const next = write(session);
    await world.clock.advance(0);
    for (const [index, { xid }] of peer.requests.entries()) peer.reply(xid, { zxid: BigInt(index + 1), body: answered });
    expect(await world.clock.run(next)).toMatchObject({ zxid: 2n });
    expect(world.told).toEqual(['connected zk:1']);
    session.abandon();
  });

  it('given up by its caller rejects with the caller’s reason', async () => {
    const { world, session } = await serving();
    world.server.answer = silent;
    const controller = new AbortController();
    const call = write(session, SECOND, controller.signal).catch((reason: unknown) => reason);
    await world.clock.advance(10);
    controller.abort('enough');
    expect(await world.clock.run(call)).toBe('enough');
    await expect(write(session, SECOND, AbortSignal.abort('before'))).rejects.toBe('before');
    expect(world.server.peer.requests).toHaveLength(1);
    session.abandon();
  });

  it('whose connection is lost under way is unknown', async () => {
    const { world, session } = await serving();
    world.server.answer = (_, peer) => peer.reset();
    const failure = await world.clock.run(failureOf(write(session)));
    expect(failure).toMatchObject({ code: 'CONNECTION_LOST', outcome: 'unknown', message: expect.stringContaining('ECONNRESET') });
    session.abandon();
  });

  it('with an answer that cannot be understood is unknown, and the connection ends', async () => {
    const { world, session } = await serving();
    world.server.answer = ({ xid }, peer) => peer.reply(xid, { body: new Uint8Array([0, 0, 0, 9]) });
    expect(await world.clock.run(failureOf(write(session)))).toMatchObject({ code: 'STORE_FAILED', outcome: 'unknown' });
    world.server.answer = counting();
    expect(await world.clock.run(write(session))).toMatchObject({ zxid: 101n });
    expect(world.told).toEqual(['connected zk:1', 'disconnected', 'reattached zk:1']);
    session.abandon();
  });

  it('beyond what servers take is refused, and not sent', async () => {
    const { world, session } = await serving();
    const request = { path: '/a', data: new Uint8Array(2 ** 20), version: 0 };
    const failure = await world.clock.run(failureOf(session.request(setData, request, { timeoutMs: SECOND })));
    expect(failure).toMatchObject({ code: 'TOO_LARGE', outcome: 'refused' });
    expect(world.server.peer.requests).toEqual([]);
    session.abandon();
  });

  it('of the most that servers take is sent', async () => {
    const { world, session } = await serving();
    const stat = { czxid: 1n, mzxid: 2n, version: 1, cversion: 0, ephemeralOwner: 0n, dataLength: 1, numChildren: 0, pzxid: 1n };
    world.server.answer = ({ xid }, peer) => peer.reply(xid, { body: writeStat(new Writer(), stat).finish() });
    const data = new Uint8Array(2 ** 20 - 1 - 8 - 4 - 2 - 4 - 4);
    const reply = session.request(setData, { path: '/a', data, version: 0 }, { timeoutMs: SECOND });
    expect((await world.clock.run(reply)).answer).toEqual(stat);
    session.abandon();
  });

  it('made while there is no connection waits for one', async () => {
    const { world, session } = await serving();
    world.server.accepts = 'refuse';
    world.server.peer.reset();
    await world.clock.advance(100);
    const call = write(session, 3 * SECOND);
    await world.clock.advance(500);
    world.server.accepts = true;
    expect(await world.clock.run(call)).toMatchObject({ zxid: 101n });
    session.abandon();
  });

  it('for which no connection comes in time was not sent', async () => {
    const { world, session } = await serving();
    world.server.accepts = 'refuse';
    world.server.peer.reset();
    await world.clock.advance(0);
    const failure = await world.clock.run(failureOf(write(session, 500)));
    expect(failure).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
    session.abandon();
  });

  it('keeps the process alive, unless it is a background one', async () => {
    const { world, session } = await serving();
    world.server.answer = silent;
    const calls = [write(session), session.request(getData, { path: '/' }, { timeoutMs: SECOND, background: true })];
    expect(world.clock.holds).toBe(1);
    await world.clock.run(Promise.allSettled(calls));
    expect(world.clock.holds).toBe(0);
    session.abandon();
  });

  it('wants a time above 0', async () => {
    const { session } = await serving();
    await expect(write(session, 0)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    session.abandon();
  });
});

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
    await world.clock.advance(1);
    expect(await world.clock.run(call)).toMatchObject({
      code: 'CONNECTION_LOST',
      outcome: 'unknown',
      message: expect.stringContaining('4000 ms'),
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

  it('whose server answers pings and no calls lives', async () => {
    const { world, session } = await serving();
    world.server.answer = silent;
    const call = failureOf(write(session, 30 * SECOND));
    await world.clock.advance(29 * SECOND);
    expect(world.told).toEqual(['connected zk:1']);
    expect(await world.clock.run(call)).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    session.abandon();
  });
});

describe('a session whose connection is lost', () => {
  it('goes on at another server, with what it is known by and what it has seen', async () => {
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

  it('does not come back in a flood to a server that takes it and cuts it off', async () => {
    const { world, session } = await serving();
    world.server.answer = (_, peer) => peer.reset();
    session.watch('/a', 'node', { changed: () => {}, stale: () => {}, ended: () => {} });
    await world.clock.advance(10_000);
    expect(world.server.peers.length).toBeGreaterThan(15);
    expect(world.server.peers.length).toBeLessThan(40);
    session.abandon();
  });

  it('tries the server that was lost after all others', async () => {
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

  it('asks again and again, but not without end and not in a flood, and is given up when its time is over', async () => {
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
    expect(world.told).toEqual(['connected zk:1', 'disconnected', 'expired by clock']);
    expect(session.over).toBe(true);
    // Servers may keep it: whoever wants it gone can still name it.
    expect(session.identity).toBeDefined();
    expect(attempts).toBeGreaterThan(10);
    expect(attempts).toBeLessThan(40);
    expect(world.clock.timers).toBe(0);
    expect(await failureOf(write(session))).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
  });

  it('is given up in the midst of an attempt, too', async () => {
    const { world, session } = await serving();
    world.server.greet = silent;
    world.server.peer.reset();
    await world.clock.advance(6_000);
    expect(world.told.at(-1)).toBe('expired by clock');
    await world.clock.advance(0);
    expect(world.server.peers.every(({ socket }) => socket.destroyed)).toBe(true);
    expect([world.clock.timers, session.over]).toEqual([0, true]);
  });

  it('has time for every server, the silent and the unreachable ones among them', async () => {
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

  it('has time for another server after a silent one, however patient it was told to be', async () => {
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
    expect([greeted, world.told.at(-1)]).toEqual([1, 'disconnected']);
    await world.clock.advance(1);
    expect(world.told.at(-1)).toContain('reattached');
    session.abandon();
  });

  it('has expired when a server says so, and calls that wait know that they did not happen', async () => {
    const { world, session } = await serving();
    world.server.greet = gone;
    world.server.accepts = 'refuse';
    world.server.peer.reset();
    await world.clock.advance(0);
    const waiting = failureOf(write(session));
    world.server.accepts = true;
    expect(await world.clock.run(waiting)).toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    expect(world.told).toEqual(['connected zk:1', 'disconnected', 'expired by server']);
    await session.close({ timeoutMs: SECOND });
    expect(world.clock.timers).toBe(0);
  });

  it('has failed when its identity is not accepted any more', async () => {
    const world = new World();
    const session = await world.open({ auths: [{ scheme: 'digest', auth: 'ann:secret' }] });
    world.server.authCode = -115;
    world.server.peer.reset();
    await world.clock.advance(0);
    expect(world.told).toEqual(['connected zk:1', 'disconnected', 'failed']);
    expect(await failureOf(write(session))).toMatchObject({ code: 'UNAUTHENTICATED', outcome: 'refused' });
  });

  it('outlives a server that turns it away until it has caught up', async () => {
    const { world, session } = await serving();
    world.server.greet = (_, peer) => peer.end();
    world.server.peer.reset();
    await world.clock.advance(2_000);
    world.server.greet = agree;
    await world.clock.advance(1_000);
    expect(world.told).toEqual(['connected zk:1', 'disconnected', 'reattached zk:1']);
    session.abandon();
  });
});

describe('a lasting session', () => {
  it('that a server has declared expired is followed by a new one, which has seen nothing', async () => {
    const world = new World();
    const session = await world.open({ lasting: true });
    world.server.answer = counting();
    await world.clock.run(write(session));
    world.server.greet = (hello, peer) => (hello.id === 0n ? agree(hello, peer) : peer.send(welcome(0, 0n)));
    const before = session.identity!.id;
    world.server.peer.reset();
    await world.clock.advance(100);
    expect(world.told).toEqual(['connected zk:1', 'disconnected', 'expired by server', 'connected zk:1']);
    expect(session.identity!.id).not.toBe(before);
    expect(world.server.peer.hello?.lastZxid).toBe(0n);
    expect(await world.clock.run(write(session))).toMatchObject({ zxid: 102n });
    session.abandon();
  });

  it('waits for servers for as long as it takes', async () => {
    const world = new World();
    const session = await world.open({ lasting: true });
    world.server.answer = counting();
    world.server.accepts = 'refuse';
    world.server.peer.reset();
    await world.clock.advance(3_600_000);
    expect(world.told).toEqual(['connected zk:1', 'disconnected', 'expired by clock']);
    world.server.accepts = true;
    expect(await world.clock.run(write(session))).toMatchObject({ zxid: 101n });
    session.abandon();
    await world.clock.advance(0);
    expect(world.clock.timers).toBe(0);
  });
});

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

  const stages: readonly (readonly [string, (world: World, session: Session) => Promise<void>])[] = [
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

  function begin(session: Session): void {
    void session.open({ timeoutMs: 10_000 }).catch(() => {});
  }

  it.each(stages)('%s leaves nothing', async (_, reach) => {
    for (const end of ['abandon', 'close'] as const) {
      const world = new World();
      const session = new Session(world.options());
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

describe('a session that is known by its identity', () => {
  it('can be taken over and ended by another', async () => {
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
