/** Handshakes with servers that answer wrongly. */

import { describe, expect, it } from 'vitest';

import { toStoreError } from '../../src/errors.ts';
import { Writer } from '../../src/protocol/jute.ts';
import { ZooKeeperSession, type SessionOptions } from '../../src/client/session.ts';
import { agree, gone, PASSWORD, silent, welcome, World, type Greet } from '../support/fake-server.ts';

/** What opening rejected with, and when. */
async function openingIn(world: World, options: Partial<SessionOptions> = {}, timeoutMs = 10_000) {
  const session = new ZooKeeperSession(world.options(options));
  const error = await world.clock.run(
    session.open({ timeoutMs }).then(
      () => undefined,
      (reason: unknown) => toStoreError(reason, 'open'),
    ),
  );
  return { error, atMs: world.clock.monotonic(), session };
}

describe('a server that', () => {
  const cases: readonly (readonly [string, Greet, string, string, RegExp])[] = [
    ['says nothing', silent, 'UNREACHABLE', 'notSent', /said nothing for 1000 ms/],
    ['ends the connection', (_, peer) => peer.end(), 'UNAVAILABLE', 'notSent', /read-only, has no quorum/],
    ['resets the connection', (_, peer) => peer.reset(), 'UNREACHABLE', 'notSent', /ECONNRESET/],
    ['speaks HTTP', (_, peer) => peer.raw('HTTP/1.1 400 Bad Request\r\n\r\n'), 'UNSUPPORTED', 'refused', /no ZooKeeper/],
    ['speaks TLS', (_, peer) => peer.raw(Buffer.from('15030300020246', 'hex')), 'UNSUPPORTED', 'refused', /no ZooKeeper/],
    ['announces a negative length', (_, peer) => peer.raw(Buffer.from('ffffffff', 'hex')), 'UNSUPPORTED', 'refused', /-1 bytes/],
    ['announces a gigabyte', (_, peer) => peer.raw(Buffer.from('40000000', 'hex')), 'UNSUPPORTED', 'refused', /1073741824 bytes/],
    ['sends half a record', (_, peer) => peer.raw(Buffer.from('0000002500000000', 'hex')), 'UNREACHABLE', 'notSent', /said nothing/],
    [
      'sends half a record and ends',
      (_, peer) => {
        peer.raw(Buffer.from('00000025', 'hex'));
        peer.end();
      },
      'UNAVAILABLE',
      'notSent',
      /ended/,
    ],
    ['sends a record of noise', (_, peer) => peer.send(new Uint8Array(37).fill(9)), 'UNSUPPORTED', 'refused', /no ZooKeeper/],
    ['sends an empty record', (_, peer) => peer.send(new Uint8Array()), 'UNSUPPORTED', 'refused', /no ZooKeeper/],
    ['opens a session that lasts no time', (_, peer) => peer.send(welcome(0, 0n)), 'UNAVAILABLE', 'notSent', /in place of opening/],
    [
      'can only be read from',
      (_, peer) => peer.send(welcome(6_000, 5n, { readOnly: true })),
      'UNAVAILABLE',
      'notSent',
      /serves reads only/,
    ],
  ];

  it.each(cases)('%s is recognised in bounded time', async (_, greet, code, outcome, message) => {
    const world = new World();
    world.server.greet = greet;
    const { error, atMs, session } = await openingIn(world);
    expect(error).toMatchObject({ code, outcome, message: expect.stringMatching(message) });
    expect(error?.message).toContain('zk:1');
    expect(atMs).toBeLessThanOrEqual(1_000);
    expect(session.endpoint).toBeUndefined();
    expect(world.server.peer.socket.destroyed).toBe(true);
    expect([world.clock.timers, world.clock.holds]).toEqual([0, 0]);
  });

  it('refuses connections is unreachable', async () => {
    const world = new World();
    world.server.accepts = 'refuse';
    const { error } = await openingIn(world);
    expect(error).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent', message: 'zookeeper open: zk:1: connect ECONNREFUSED' });
  });

  it('does not answer a connection attempt is unreachable in bounded time, and a late socket is closed', async () => {
    const world = new World();
    const late = Promise.withResolvers<never>();
    const { error, atMs } = await openingIn(world, { connect: () => late.promise });
    expect(error).toMatchObject({
      code: 'UNREACHABLE',
      outcome: 'notSent',
      message: expect.stringContaining('not connected within 1000 ms'),
    });
    expect(atMs).toBe(1_000);
    const socket = await world.server.accept();
    late.resolve(socket as never);
    await world.clock.advance(0);
    expect(socket.destroyed).toBe(true);
  });

  it('has another name in its certificate is not trusted', async () => {
    const mismatch = Object.assign(new Error('Hostname/IP does not match'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    const { error } = await openingIn(new World(), { connect: () => Promise.reject(mismatch) });
    expect(error).toMatchObject({ code: 'UNAUTHENTICATED', outcome: 'refused' });
  });

  it('answers with another session than the one to take over is not ZooKeeper', async () => {
    const world = new World();
    world.server.greet = (_, peer) => peer.send(welcome(6_000, 6n));
    const { error } = await openingIn(world, { identity: { id: 5n, password: PASSWORD } });
    expect(error).toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused' });
  });

  it('does not know the session to take over reports it as expired', async () => {
    const world = new World();
    world.server.greet = gone;
    const { error } = await openingIn(world, { identity: { id: 5n, password: PASSWORD } });
    expect(error).toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
  });
});

describe('opening', () => {
  it('uses the granted timeout instead of the requested one', async () => {
    const world = new World();
    world.server.greet = (_, peer) => peer.send(welcome(40_000, 77n));
    const session = await world.open({ timeoutMs: 60_000 });
    expect(session).toMatchObject({ timeoutMs: 40_000, identity: { id: 77n, password: PASSWORD }, endpoint: { port: 1 }, over: false });
    expect(world.server.peer.hello).toMatchObject({ timeoutMs: 60_000, id: 0n, lastZxid: 0n });
    session.abandon();
  });

  it('shows every identity before any request', async () => {
    const world = new World();
    const auths = [
      { scheme: 'digest', auth: 'ann:secret' },
      { scheme: 'x509', auth: new Uint8Array([1]) },
    ];
    const session = await world.open({ auths });
    const shown = world.server.peer.requests.map(({ xid, type, body }) => [xid, type, body.int(), body.string(), body.string()]);
    expect(shown).toEqual([
      [-4, 100, 0, 'digest', 'ann:secret'],
      [-4, 100, 0, 'x509', '\u0001'],
    ]);
    session.abandon();
  });

  it('rejects when an identity is not accepted, and tries no other server', async () => {
    const world = new World(3);
    for (const server of world.servers) server.authCode = -115;
    const { error } = await openingIn(world, { auths: [{ scheme: 'digest', auth: 'ann' }] });
    expect(error).toMatchObject({ code: 'UNAUTHENTICATED', outcome: 'refused', message: expect.stringContaining('AUTHFAILED') });
    expect(world.servers.flatMap(({ peers }) => peers)).toHaveLength(1);
  });

  it('rejects a wrong answer to an identity', async () => {
    const world = new World();
    world.server.greet = (hello, peer) => {
      agree(hello, peer);
      peer.reply(9);
    };
    const { error } = await openingIn(world, { auths: [{ scheme: 'digest', auth: 'ann:secret' }] });
    expect(error).toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused' });
  });

  it('goes on to the next server, and names all servers if none serves', async () => {
    const world = new World(3);
    world.servers[0]!.accepts = 'refuse';
    world.servers[1]!.greet = (_, peer) => peer.raw('HTTP/1.1 400 Bad Request\r\n\r\n');
    world.servers[2]!.greet = (_, peer) => peer.end();
    const { error } = await openingIn(world);
    // The one that gives most hope decides.
    expect(error).toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent' });
    for (const name of ['zk:1: connect ECONNREFUSED', 'zk:2: what answers is no ZooKeeper', 'zk:3: the server ended'])
      expect(error?.message).toContain(name);
    world.servers[2]!.greet = agree;
    const { error: none, session } = await openingIn(world);
    expect(none).toBeUndefined();
    session.abandon();
  });

  it('tries the next server after a moment, and leaves no connection at the slow one', async () => {
    const world = new World(2);
    for (const server of world.servers) server.accepts = 'ignore';
    world.servers[0]!.accepts = true;
    world.servers[1]!.accepts = 'ignore';
    const { session, atMs, error } = await openingIn(world);
    expect(error).toBeUndefined();
    expect(atMs).toBeLessThanOrEqual(250);
    session.abandon();
    await world.clock.advance(0);
    expect(world.clock.timers).toBe(0);
  });

  it('never asks two servers for a session at once', async () => {
    const world = new World(2);
    for (const server of world.servers) server.greet = silent;
    const session = new ZooKeeperSession(world.options({ handshakeTimeoutMs: 1_000 }));
    const opening = session.open({ timeoutMs: 10_000 }).catch(() => {});
    await world.clock.advance(900);
    expect(world.servers.flatMap(({ peers }) => peers).filter(({ hello }) => hello !== undefined)).toHaveLength(1);
    await world.clock.run(opening);
  });

  it('keeps one of two connections that open at the same time', async () => {
    const world = new World(2);
    const gate = Promise.withResolvers<void>();
    const session = new ZooKeeperSession(
      world.options({
        connect: async ({ port }) => {
          await gate.promise;
          return world.servers[port - 1]!.accept();
        },
      }),
    );
    const opening = session.open({ timeoutMs: 10_000 });
    await world.clock.advance(300);
    gate.resolve();
    await world.clock.run(opening);
    await world.clock.advance(0);
    const peers = world.servers.flatMap((server) => server.peers);
    expect(peers).toHaveLength(2);
    expect(peers.filter(({ socket }) => !socket.destroyed)).toHaveLength(1);
    session.abandon();
  });

  it('rejects when its time is over', async () => {
    const world = new World();
    world.server.greet = silent;
    const { error, atMs, session } = await openingIn(world, { handshakeTimeoutMs: 60_000 }, 300);
    expect(error).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent', message: expect.stringContaining('within 300 ms') });
    expect(atMs).toBe(300);
    expect(session.endpoint).toBeUndefined();
    await world.clock.advance(0);
    expect(world.server.peer.socket.destroyed).toBe(true);
    expect([world.clock.timers, world.clock.holds]).toEqual([0, 0]);
  });

  it('rejects with the signal’s reason when the signal aborts', async () => {
    const world = new World();
    world.server.greet = silent;
    const controller = new AbortController();
    const opening = new ZooKeeperSession(world.options()).open({ timeoutMs: 10_000, signal: controller.signal });
    const ended = opening.catch((reason: unknown) => reason);
    await world.clock.advance(100);
    controller.abort('enough');
    expect(await world.clock.run(ended)).toBe('enough');
    await world.clock.advance(0);
    expect(world.server.peer.socket.destroyed).toBe(true);
    expect(world.clock.timers).toBe(0);
  });
});

describe('a welcome', () => {
  it('that arrives byte by byte is read', async () => {
    const world = new World();
    world.server.greet = (_, peer) => {
      const whole = Buffer.concat([Buffer.from('00000025', 'hex'), welcome(6_000, 3n)]);
      for (const byte of whole) peer.raw(new Uint8Array([byte]));
    };
    const session = await world.open();
    expect(session.identity?.id).toBe(3n);
    session.abandon();
  });

  it('that is followed by an event at once is read, and so is the event', async () => {
    const world = new World();
    world.server.greet = (hello, peer) => {
      agree(hello, peer);
      peer.event(3, '/a');
    };
    const session = await world.open();
    await world.clock.advance(10);
    expect(session.endpoint).toBeDefined();
    expect(new Writer().finish()).toHaveLength(0);
    session.abandon();
  });
});
