/**
 * One call, against a fake server. Real time: the timeouts and pings of Node's
 * HTTP/2 are under test, and Node takes no clock.
 */

import { createServer as createHttpServer } from 'node:http';
import { constants } from 'node:http2';
import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { openEtcd } from '@incumbent/etcd';
import { startProxy } from '@incumbent/test-support';

import { Http2Connection } from '../../src/client/http2-connection.ts';
import { clientOf, closeClients, read, silent, SOON } from '../client-of.ts';
import { EMPTY_RANGE, fails, http, listen, ok, raw, startFakeServer, type Answer, type FakeServer } from '../fake-server.ts';

afterEach(closeClients);

describe('an answer', () => {
  const cases: readonly (readonly [string, Answer, string, string])[] = [
    ['that is a refused stream', (stream) => stream.close(7), 'UNAVAILABLE', 'notSent'],
    ['that is a reset stream', (stream) => stream.close(2), 'CONNECTION_LOST', 'unknown'],
    ['that is a reset connection', (stream) => stream.session?.destroy(), 'CONNECTION_LOST', 'unknown'],
    ['that is a proxy’s page', http(503), 'UNAVAILABLE', 'unknown'],
    ['that is another server’s', http(404), 'UNSUPPORTED', 'refused'],
    ['of another service', fails(12, 'unknown service'), 'UNSUPPORTED', 'refused'],
    ['without a message', raw([], { 'grpc-status': '0' }), 'STORE_FAILED', 'unknown'],
    ['without a status', raw([new Uint8Array([0, 0, 0, 0, 0])]), 'CONNECTION_LOST', 'unknown'],
    ['with half a message', raw([new Uint8Array([0, 0, 0, 0, 9, 1])], { 'grpc-status': '0' }), 'STORE_FAILED', 'unknown'],
    ['with a compressed message', raw([new Uint8Array([1, 0, 0, 0, 0])], { 'grpc-status': '0' }), 'STORE_FAILED', 'unknown'],
    ['with a message that makes no sense', ok(new Uint8Array([0x0b])), 'STORE_FAILED', 'unknown'],
    ['that never comes', silent, 'TIMEOUT', 'unknown'],
  ];

  it.each(cases)('%s', async (_, answer, code, outcome) => {
    await using server = await startFakeServer(answer);
    await expect(read(clientOf([server.port]), 300)).rejects.toMatchObject({ name: 'StoreError', code, outcome });
    // Once, whatever came of it.
    expect(server.requests).toEqual(['/etcdserverpb.KV/Range']);
  });

  it('has a message, percent-encoded or not', async () => {
    await using server = await startFakeServer(fails(14, 'etcdserver: no leader %E2%80%94 yet'));
    await expect(read(clientOf([server.port]))).rejects.toThrow('etcd Range: etcdserver: no leader — yet');
    server.answer = fails(14, '100% wrong');
    await expect(read(clientOf([server.port]))).rejects.toThrow('etcd Range: 100% wrong');
  });

  it('may arrive in pieces of any length', async () => {
    const framed = new Uint8Array([0, 0, 0, 0, EMPTY_RANGE.length, ...EMPTY_RANGE]);
    await using server = await startFakeServer((stream) => {
      raw(
        [...framed].map((byte) => new Uint8Array([byte])),
        { 'grpc-status': '0' },
      )(stream, {});
    });
    expect(await read(clientOf([server.port]))).toEqual({ revision: 7n, kvs: [] });
  });
});

describe('an abort', () => {
  it('rejects with its reason at once, and resets the request at the server', async () => {
    const codes: number[] = [];
    await using server = await startFakeServer((stream) => {
      stream.on('close', () => void codes.push(stream.rstCode));
    });
    const stop = new AbortController();
    const call = read(clientOf([server.port]), 60_000, stop.signal);
    await expect.poll(() => server.requests.length, SOON).toBe(1);
    stop.abort('enough');
    await expect(call).rejects.toBe('enough');
    // CANCEL, in HTTP/2's numbers.
    await expect.poll(() => codes, SOON).toEqual([8]);
  });

  it('before there is a connection sends nothing', async () => {
    const mute = createTcpServer(() => {});
    const stop = new AbortController();
    const call = read(clientOf([await listen(mute)]), 60_000, stop.signal);
    setTimeout(() => stop.abort('enough'), 20);
    await expect(call).rejects.toBe('enough');
    mute.close();
  });
});

it('a proof of a member that is aborted during the login sends no read', async () => {
  await using server = await startFakeServer((stream, headers) => {
    if (headers[':path'] === '/etcdserverpb.KV/Range') ok()(stream, headers);
  });
  const client = clientOf([server.port]);
  const handlers = { maxBytes: () => 0, message: () => {}, ended: () => {} };
  const open = await client.openStream('Watch', '/etcdserverpb.Watch/Watch', handlers, { timeoutMs: 1_000 });
  const stop = new AbortController();
  const proof = client.proveMember(open, 'a', stop.signal);
  stop.abort(new Error('enough'));
  await expect(proof).rejects.toThrow('enough');
  await sleep(50);
  expect(server.requests).not.toContain('/etcdserverpb.KV/Range');
});

describe('a connection', () => {
  it('that the server announces to close finishes its calls and accepts no new ones', async () => {
    const held: (() => void)[] = [];
    await using server = await startFakeServer((stream) => void held.push(() => ok()(stream, {})));
    const client = clientOf([server.port]);
    const first = read(client);
    await expect.poll(() => held.length, SOON).toBe(1);
    server.sessions[0]?.goaway(0);
    await sleep(50);
    server.answer = ok();
    await read(client);
    expect(server.sessions.length).toBe(2);
    held[0]?.();
    expect(await first).toEqual({ revision: 7n, kvs: [] });
  });

  it('that has used up its stream numbers finishes its calls; new calls get a new connection', async () => {
    const held: (() => void)[] = [];
    await using server = await startFakeServer((stream) => void held.push(() => ok()(stream, {})));
    const client = clientOf([server.port], { maxRequests: 3 });
    const calls = Promise.all(Array.from({ length: 5 }, () => read(client)));
    await expect.poll(() => held.length, SOON).toBe(5);
    for (const answer of held) answer();
    await calls;
    expect(server.sessions.length).toBe(2);
    await expect.poll(() => server.sessions.map(({ destroyed }) => destroyed), SOON).toEqual([true, false]);
  });

  it('serves a hundred concurrent calls with one signal, without a warning', async () => {
    const warnings: Error[] = [];
    const record = (warning: Error): void => void warnings.push(warning);
    process.on('warning', record);
    await using server = await startFakeServer(ok());
    const client = clientOf([server.port]);
    const { signal } = new AbortController();
    await Promise.all(Array.from({ length: 100 }, () => read(client, 1_000, signal)));
    await sleep(10);
    process.off('warning', record);
    expect(warnings).toEqual([]);
  });

  it('to a server that does not speak HTTP/2 is UNSUPPORTED', async () => {
    const web = createHttpServer((_, response) => response.end('hello'));
    const port = await listen(web);
    await expect(openEtcd(`etcd://127.0.0.1:${port}`)).rejects.toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused' });
    web.close();
  });

  it('to a server that sends a greeting of another protocol is UNSUPPORTED', async () => {
    const other = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.write('-ERR unknown command\r\n');
    });
    const port = await listen(other);
    await expect(openEtcd(`etcd://127.0.0.1:${port}`)).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringMatching(/does not speak HTTP\/2.*etcds:/),
    });
    other.close();
  });

  it('to another HTTP/2 service is UNSUPPORTED', async () => {
    await using server = await startFakeServer(fails(12, 'unknown service etcdserverpb.Maintenance'));
    await expect(openEtcd(`etcd://127.0.0.1:${server.port}`)).rejects.toMatchObject({ code: 'UNSUPPORTED' });
  });

  it('that is accepted and never answered is given up at the timeout, as notSent', async () => {
    const sockets: Socket[] = [];
    const mute = createTcpServer((socket) => void sockets.push(socket.resume()));
    const port = await listen(mute);
    const startedAt = performance.now();
    await expect(openEtcd({ endpoints: [`127.0.0.1:${port}`], connectTimeoutMs: 300 })).rejects.toMatchObject({
      code: 'UNREACHABLE',
      outcome: 'notSent',
    });
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    await expect.poll(() => sockets.every((socket) => socket.destroyed), SOON).toBe(true);
    mute.close();
  });

  it('that the server closes at once is UNREACHABLE', async () => {
    const rude = createTcpServer((socket) => socket.destroy());
    const port = await listen(rude);
    await expect(openEtcd(`etcd://127.0.0.1:${port}`)).rejects.toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
    rude.close();
  });

  it('from the caller’s connect function is used, and destroyed if it opens too late', async () => {
    await using server = await startFakeServer(ok());
    const brought: Socket[] = [];
    const bring = async (delayMs: number): Promise<Socket> => {
      await sleep(delayMs);
      const socket = connect({ host: '127.0.0.1', port: server.port });
      brought.push(socket);
      return socket;
    };
    await read(clientOf([1], { connect: () => bring(10) }));
    await expect(read(clientOf([1], { connect: () => bring(400), dialTimeoutMs: 100 }))).rejects.toMatchObject({ code: 'UNREACHABLE' });
    await expect.poll(() => brought.map(({ destroyed }) => destroyed), { timeout: 2_000 }).toEqual([false, true]);
    const broken = clientOf([1], { connect: () => Promise.reject(new Error('the tunnel is down')) });
    await expect(read(broken)).rejects.toMatchObject({
      code: 'UNREACHABLE',
      outcome: 'notSent',
      message: expect.stringContaining('the tunnel is down'),
    });
  });

  it('to a slow server is kept; one that answers no ping is ended', async () => {
    await using server = await startFakeServer(silent);
    await using proxy = await startProxy(`tcp://127.0.0.1:${server.port}`);
    const client = clientOf([proxy.port]);
    await expect(read(client, 100)).rejects.toMatchObject({ code: 'TIMEOUT' });
    await sleep(400);
    expect(proxy.stats().connections.open).toBe(1);
    proxy.blackhole();
    const waiting = read(client, 5_000);
    await expect(read(client, 100)).rejects.toMatchObject({ code: 'TIMEOUT' });
    // Long before its own time is over.
    await expect(waiting).rejects.toMatchObject({ code: 'CONNECTION_LOST', outcome: 'unknown' });
    await proxy.heal();
    server.answer = ok();
    await read(client);
  });
});

describe('an HTTP/2 connection', () => {
  it('that the server ends with an error leaves the accepted calls unknown, whatever the error code', async () => {
    let taken = 0;
    await using server = await startFakeServer((stream) => {
      taken += 1;
      stream.session?.goaway(constants.NGHTTP2_REFUSED_STREAM, stream.id);
    });
    await expect(read(clientOf([server.port]))).rejects.toMatchObject({ code: 'CONNECTION_LOST', outcome: 'unknown' });
    expect(taken).toBe(1);
  });

  it('is pinged no more often than the server allows, however many calls are unanswered', async () => {
    await using server = await startFakeServer(() => {});
    let pings = 0;
    const client = clientOf([server.port]);
    for (let i = 0; i < 8; i += 1) {
      await expect(read(client, 50)).rejects.toMatchObject({ code: 'TIMEOUT' });
      if (i === 0) server.sessions[0]?.on('ping', () => (pings += 1));
    }
    await sleep(100);
    expect(server.sessions.length).toBe(1);
    // The third that etcd counts ends the connection: those that come within 5 s.
    expect(pings).toBeLessThanOrEqual(2);
  });

  it('is kept if the answer to a ping came while this process was paused', async () => {
    await using server = await startFakeServer(() => {});
    const client = clientOf([server.port], { keepalive: { intervalMs: 200, timeoutMs: 100 } });
    const { probe } = Http2Connection.prototype;
    const probed = vi.spyOn(Http2Connection.prototype, 'probe').mockImplementationOnce(function standStill(this: Http2Connection) {
      probe.call(this);
      setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200));
    });
    await expect(read(client, 2_000)).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect(probed).toHaveBeenCalled();
    probed.mockRestore();
    expect(server.sessions.length).toBe(1);
  });
});

describe('a token', () => {
  const credentials = { username: 'alice', password: 'secret' };
  const tokenAnswer = (token: string): Uint8Array => new Uint8Array([0x12, token.length, ...new TextEncoder().encode(token)]);
  const stale = fails(16, 'etcdserver: invalid auth token');

  /** A server that gives out the tokens t1, t2, … and serves those that `serves` finds good. */
  async function guarded(
    serves: (token: unknown) => boolean,
    refusal: Answer = stale,
  ): Promise<FakeServer & { readonly logins: () => number }> {
    let logins = 0;
    const server = await startFakeServer((stream, headers) => {
      if (headers[':path'] === '/etcdserverpb.Auth/Authenticate') ok(tokenAnswer(`t${(logins += 1)}`))(stream, headers);
      else (serves(headers['token']) ? ok() : refusal)(stream, headers);
    });
    return Object.assign(server, { logins: () => logins });
  }

  it('is fetched once for all calls that wait for it', async () => {
    await using server = await guarded((token) => token === 't1');
    const client = clientOf([server.port], { credentials });
    await Promise.all(Array.from({ length: 20 }, () => read(client)));
    expect(server.logins()).toBe(1);
  });

  it.each(['invalid auth token', 'revision of auth store is old', 'user name is empty'])(
    'that is turned away (%s) is replaced, once for all, and the calls are sent again',
    async (words) => {
      let good = 't1';
      await using server = await guarded((token) => token === good, fails(3, `etcdserver: ${words}`));
      const client = clientOf([server.port], { credentials });
      await read(client);
      good = 't2';
      await Promise.all(Array.from({ length: 20 }, () => read(client)));
      expect([server.logins(), server.requests.length]).toEqual([2, 2 + 1 + 20 + 20]);
    },
  );

  it('that is refused again although it is new makes the call fail', async () => {
    await using server = await guarded(() => false);
    await expect(read(clientOf([server.port], { credentials }))).rejects.toMatchObject({ code: 'UNAUTHENTICATED', outcome: 'refused' });
    expect([server.logins(), server.requests.length]).toEqual([2, 4]);
  });

  it('that cannot be fetched leaves the call notSent', async () => {
    await using server = await startFakeServer(silent);
    await expect(read(clientOf([server.port], { credentials }), 200)).rejects.toMatchObject({ outcome: 'notSent' });
    server.answer = (stream) => stream.close(2);
    await expect(read(clientOf([server.port], { credentials }))).rejects.toMatchObject({ code: 'CONNECTION_LOST', outcome: 'notSent' });
  });

  it('is fetched from the next member if one does not answer', async () => {
    await using bad = await startFakeServer(silent);
    await using good = await guarded((token) => token === 't1');
    await read(clientOf([bad.port, good.port], { credentials }), 30_000);
    expect([bad.requests, good.logins()]).toEqual([['/etcdserverpb.Auth/Authenticate'], 1]);
  });

  it('is not needed where the server has no users', async () => {
    await using server = await startFakeServer((stream, headers) => {
      const login = headers[':path'] === '/etcdserverpb.Auth/Authenticate';
      (login ? fails(9, 'etcdserver: authentication is not enabled') : ok())(stream, headers);
    });
    await using other = await startFakeServer(ok());
    const client = clientOf([server.port, other.port], { credentials });
    for (let i = 0; i < 3; i += 1) await read(client);
    expect([server.requests.length, other.requests.length]).toEqual([4, 0]);
  });
});
