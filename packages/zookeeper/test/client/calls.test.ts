/** How the calls of a session end. */

import { describe, expect, it, vi } from 'vitest';

import { Reader, Writer } from '../../src/protocol/jute.ts';
import { getData, setData, writeStat } from '../../src/protocol/nodes.ts';
import { silent } from '../support/fake-server.ts';
import { counting, failureOf, SECOND, serving, SYNCED, write } from '../support/serving.ts';

/** A session that has lost its connection and gets no other. */
async function unconnected() {
  const { world, session } = await serving();
  world.server.accepts = 'refuse';
  world.server.peer.reset();
  return { world, session };
}

describe('a call', () => {
  it('resolves with the answer and its transaction', async () => {
    const { world, session } = await serving();
    expect(await world.clock.run(write(session))).toEqual({ zxid: 101n, answer: undefined });
    session.abandon();
  });

  it('gets the answers in the order of the calls', async () => {
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
  ])('rejects if the answer is %s, and the connection stays', async (name, code, error, outcome) => {
    const { world, session } = await serving();
    world.server.answer = ({ xid }, peer) => peer.reply(xid, { code });
    const failure = await world.clock.run(failureOf(write(session)));
    expect(failure).toMatchObject({ code: error, outcome, message: `zookeeper call: the server answered ${name}` });
    expect(world.eventNames).toEqual(['connected zk:1']);
    session.abandon();
  });

  it('without an answer in its time has an unknown outcome', async () => {
    const { world, session } = await serving();
    world.server.answer = silent;
    expect(await world.clock.run(failureOf(write(session, 500)))).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    expect(world.eventNames).toEqual(['connected zk:1']);
    session.abandon();
  });

  it('never gets the answer to another: the connection to a server that answers out of order ends', async () => {
    const { world, session } = await serving();
    world.server.answer = silent;
    const [first, second] = [failureOf(write(session)), failureOf(write(session))];
    await world.clock.advance(0);
    world.server.peer.reply(2, { body: SYNCED });
    for (const call of [first, second]) expect(await world.clock.run(call)).toMatchObject({ code: 'STORE_FAILED', outcome: 'unknown' });
    await world.clock.advance(0);
    expect(world.eventNames).toEqual(['connected zk:1', 'disconnected', 'reattached zk:1']);
    session.abandon();
  });

  it('whose answer is late does not affect later calls', async () => {
    const { world, session } = await serving();
    const { peer } = world.server;
    world.server.answer = silent;
    await world.clock.run(failureOf(write(session, 500)));
    const next = write(session);
    await world.clock.advance(0);
    for (const [index, { xid }] of peer.requests.entries()) peer.reply(xid, { zxid: BigInt(index + 1), body: SYNCED });
    expect(await world.clock.run(next)).toMatchObject({ zxid: 2n });
    expect(world.eventNames).toEqual(['connected zk:1']);
    session.abandon();
  });

  it('whose answer is late frees the answer, because nobody reads it', async () => {
    const { world, session } = await serving();
    world.server.answer = silent;
    await world.clock.run(failureOf(write(session, 500)));
    const free = vi.spyOn(Reader.prototype, 'free');
    try {
      world.server.peer.reply(1, { body: new Uint8Array(100_000) });
      await world.clock.advance(0);
      expect(free).toHaveBeenCalledTimes(1);
    } finally {
      free.mockRestore();
    }
    session.abandon();
  });

  it('that is aborted rejects with the signal’s reason', async () => {
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

  it('whose connection is lost has an unknown outcome', async () => {
    const { world, session } = await serving();
    world.server.answer = (_, peer) => peer.reset();
    const failure = await world.clock.run(failureOf(write(session)));
    expect(failure).toMatchObject({ code: 'CONNECTION_LOST', outcome: 'unknown', message: expect.stringContaining('ECONNRESET') });
    session.abandon();
  });

  it('whose answer is malformed has an unknown outcome, and the connection ends', async () => {
    const { world, session } = await serving();
    world.server.answer = ({ xid }, peer) => peer.reply(xid, { body: new Uint8Array([0, 0, 0, 9]) });
    expect(await world.clock.run(failureOf(write(session)))).toMatchObject({ code: 'STORE_FAILED', outcome: 'unknown' });
    world.server.answer = counting();
    expect(await world.clock.run(write(session))).toMatchObject({ zxid: 101n });
    expect(world.eventNames).toEqual(['connected zk:1', 'disconnected', 'reattached zk:1']);
    session.abandon();
  });

  it('that is longer than servers accept is refused and not sent', async () => {
    const { world, session } = await serving();
    const request = { path: '/a', data: new Uint8Array(2 ** 20), version: 0 };
    const failure = await world.clock.run(failureOf(session.request(setData, request, { timeoutMs: SECOND })));
    expect(failure).toMatchObject({ code: 'TOO_LARGE', outcome: 'refused' });
    expect(world.server.peer.requests).toEqual([]);
    session.abandon();
  });

  it('that is as long as servers accept is sent', async () => {
    const { world, session } = await serving();
    const stat = { czxid: 1n, mzxid: 2n, version: 1, cversion: 0, ephemeralOwner: 0n, dataLength: 1, numChildren: 0, pzxid: 1n };
    world.server.answer = ({ xid }, peer) => peer.reply(xid, { body: writeStat(new Writer(), stat).finish() });
    const data = new Uint8Array(2 ** 20 - 1 - 8 - 4 - 2 - 4 - 4);
    const reply = session.request(setData, { path: '/a', data, version: 0 }, { timeoutMs: SECOND });
    expect((await world.clock.run(reply)).answer).toEqual(stat);
    session.abandon();
  });

  it('waits while there is no connection', async () => {
    const { world, session } = await unconnected();
    await world.clock.advance(100);
    const call = write(session, 3 * SECOND);
    await world.clock.advance(500);
    world.server.accepts = true;
    expect(await world.clock.run(call)).toMatchObject({ zxid: 101n });
    session.abandon();
  });

  it('rejects as not sent if no connection opens in its time', async () => {
    const { world, session } = await unconnected();
    await world.clock.advance(0);
    const failure = await world.clock.run(failureOf(write(session, 500)));
    expect(failure).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
    session.abandon();
  });

  it('keeps the process alive, unless it is a background call', async () => {
    const { world, session } = await serving();
    world.server.answer = silent;
    const calls = [write(session), session.request(getData, { path: '/' }, { timeoutMs: SECOND, background: true })];
    expect(world.clock.holds).toBe(1);
    await world.clock.run(Promise.allSettled(calls));
    expect(world.clock.holds).toBe(0);
    session.abandon();
  });

  it('requires a time above 0', async () => {
    const { session } = await serving();
    await expect(write(session, 0)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    session.abandon();
  });
});
