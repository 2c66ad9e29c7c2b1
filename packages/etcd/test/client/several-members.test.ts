/** A client of several addresses, of which some do not serve. */

import { createServer as createTcpServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import { openEtcd } from '@incumbent/etcd';

import { status } from '../../src/protocol/admin.ts';
import { clientOf, closeClients, read, silent, SOON } from '../client-of.ts';
import { fails, http, listen, ok, raw, startFakeServer, type Answer, type FakeServer } from '../fake-server.ts';

afterEach(closeClients);

const VERSION = new Uint8Array([0x12, 5, ...new TextEncoder().encode('3.6.1')]);

describe('several members', () => {
  const closedPort = 1;

  async function two(first: Answer, second: Answer): Promise<readonly [FakeServer, FakeServer]> {
    return Promise.all([startFakeServer(first), startFakeServer(second)]);
  }

  it('one that refuses connections is skipped', async () => {
    await using server = await startFakeServer(ok());
    const client = clientOf([closedPort, server.port]);
    for (let i = 0; i < 20; i += 1) await read(client);
    expect(server.sessions.length).toBe(1);
  });

  it('one that never answers delays the first call by 250 ms, and no other', async () => {
    const mute = createTcpServer(() => {});
    const mutePort = await listen(mute);
    await using server = await startFakeServer(ok());
    const client = clientOf([mutePort, server.port]);
    const startedAt = performance.now();
    for (let i = 0; i < 20; i += 1) await read(client);
    // At each of the 20 calls it would be five seconds.
    expect(performance.now() - startedAt).toBeLessThan(50_000);
    mute.close();
  });

  it.each([
    ['cannot serve', fails(14, 'etcdserver: no leader'), 'UNAVAILABLE'],
    ['does not answer', silent, 'TIMEOUT'],
    ['resets the stream', (stream) => stream.close(2), 'CONNECTION_LOST'],
    ['is another service', fails(12, 'unknown service etcdserverpb.KV'), 'UNSUPPORTED'],
    ['is a web server', http(404), 'UNSUPPORTED'],
    ['is a gateway that fails', http(500), 'UNSUPPORTED'],
    ['is a gateway that refuses', http(403), 'PERMISSION_DENIED'],
    ['is a gateway that asks for a login', http(401), 'UNAUTHENTICATED'],
    ['fails for a reason that etcd does not give', fails(13, 'boom'), 'STORE_FAILED'],
    ['answers without a message', raw([], { 'grpc-status': '0' }), 'STORE_FAILED'],
  ] satisfies [string, Answer, string][])('after one that %s the next call goes to another', async (_, answer, code) => {
    const [bad, good] = await two(answer, ok());
    const client = clientOf([bad.port, good.port]);
    await expect(read(client, 200)).rejects.toMatchObject({ code });
    for (let i = 0; i < 20; i += 1) await read(client);
    expect([bad.requests.length, good.requests.length]).toEqual([1, 20]);
    await Promise.all([bad, good].map((server) => server[Symbol.asyncDispose]()));
  });

  it.each([
    ['has refused a call', fails(7, 'etcdserver: permission denied'), 'PERMISSION_DENIED'],
    ['has refused an argument', fails(3, 'etcdserver: key is not provided'), 'STORE_FAILED'],
    ['has announced too long an answer', raw([new Uint8Array([0, 9, 0, 0, 0])], { 'grpc-status': '0' }), 'STORE_FAILED'],
  ] satisfies [string, Answer, string][])('one that %s gets the next one', async (_, answer, code) => {
    const [first, second] = await two(answer, ok());
    const client = clientOf([first.port, second.port]);
    for (let i = 0; i < 3; i += 1) await expect(read(client)).rejects.toMatchObject({ code });
    expect([first.requests.length, second.requests.length]).toEqual([3, 0]);
    await Promise.all([first, second].map((server) => server[Symbol.asyncDispose]()));
  });

  it('one whose call the caller aborts gets the next one', async () => {
    const [first, second] = await two(silent, ok());
    const client = clientOf([first.port, second.port]);
    const stop = new AbortController();
    const call = read(client, 60_000, stop.signal);
    await expect.poll(() => first.requests.length, SOON).toBe(1);
    stop.abort('enough');
    await expect(call).rejects.toBe('enough');
    first.answer = ok();
    await read(client);
    expect([first.requests.length, second.requests.length]).toEqual([2, 0]);
    await Promise.all([first, second].map((server) => server[Symbol.asyncDispose]()));
  });

  it.each([
    ['cannot serve', fails(14, 'etcdserver: no leader')],
    ['does not answer', silent],
    ['is another service', fails(12, 'unknown service etcdserverpb.Maintenance')],
    ['is a web server', http(404)],
    ['is a gateway that fails', http(500)],
  ] satisfies [string, Answer][])('opening a store goes to the next member if one %s', async (_, answer) => {
    const [bad, good] = await two(answer, ok(VERSION));
    for (let i = 0; i < 4; i += 1) {
      const store = await openEtcd({ endpoints: [`127.0.0.1:${bad.port}`, `127.0.0.1:${good.port}`] });
      expect(store.capabilities.endsEarly).toContain('etcd 3.6.1');
      await store.close();
    }
    await Promise.all([bad, good].map((server) => server[Symbol.asyncDispose]()));
  });

  it.each([
    ['is another service', fails(12, 'unknown service etcdserverpb.Maintenance'), 'UNSUPPORTED'],
    // Whichever of the two is asked last.
    ['has no leader', fails(14, 'etcdserver: no leader'), 'UNAVAILABLE'],
  ] satisfies [string, Answer, string][])('opening a store fails if one is another service and the other %s', async (_, answer, code) => {
    const both = await two(fails(12, 'unknown service etcdserverpb.Maintenance'), answer);
    for (const order of [both, both.toReversed()]) {
      const client = clientOf(order.map(({ port }) => port));
      await expect(client.call(status, undefined, { timeoutMs: 5_000 })).rejects.toMatchObject({ code });
    }
    expect(both.map(({ requests }) => requests.length)).toEqual([2, 2]);
    await Promise.all(both.map((server) => server[Symbol.asyncDispose]()));
  });
});
