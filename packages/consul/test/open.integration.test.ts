import { readFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';

import {
  freePort,
  listenAnywhere,
  requireStore,
  startConsul,
  startProxy,
  uniqueNamespace,
  until,
  type ConsulServer,
} from '@incumbent/test-support';
import type { Store } from '@incumbent/core';
import { connectSocket } from '@incumbent/network';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openConsul } from '../src/index.ts';
import { leaseCall } from './fake-agent.ts';
import { hostOf, openingFailure } from './opening.ts';

const CALL = { timeoutMs: 5_000 };

async function listen(server: Server): Promise<string> {
  const { host, port } = await listenAnywhere(server);
  return `${host}:${port}`;
}

describe('opening fails if the agent', () => {
  it('does not listen', async () => {
    expect(await openingFailure({ endpoint: `127.0.0.1:${await freePort()}` })).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
  });

  it('has an unknown host name', async () => {
    expect(await openingFailure({ endpoint: 'nobody.invalid' })).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
  });

  it('accepts a connection and does not respond', async () => {
    const server = createServer(() => {});
    const endpoint = await listen(server);
    expect(await openingFailure({ endpoint, connectTimeoutMs: 500 })).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    expect(await openingFailure({ endpoint, connectTimeoutMs: 500, tls: {} })).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
    server.close();
  });

  it('is not Consul', async () => {
    const http = createHttpServer((_, response) => response.end('hello'));
    expect(await openingFailure({ endpoint: await listen(http) })).toMatchObject({ code: 'UNSUPPORTED' });
    http.closeAllConnections();
    http.close();
    const other = createServer((socket) => socket.end('SSH-2.0-OpenSSH_9.2p1\r\n'));
    expect(await openingFailure({ endpoint: await listen(other) })).toMatchObject({ code: 'UNSUPPORTED' });
    other.close();
  });
});

describe.runIf(await requireStore({ store: 'consul', own: true }))('a Consul', () => {
  let consul: ConsulServer;
  let secure: ConsulServer;

  beforeAll(async () => {
    [consul, secure] = await Promise.all([startConsul(), startConsul({ tls: 'mutual' })]);
  });
  afterAll(() => Promise.all([consul, secure].map((server) => server.stop())));

  it('of another datacenter than the requested one is UNAVAILABLE', async () => {
    expect(await openingFailure({ endpoint: hostOf(consul), datacenter: 'dc2' })).toMatchObject({ code: 'UNAVAILABLE' });
    await using store = await openConsul(`consul://${hostOf(consul)}/${uniqueNamespace()}?dc=dc1`);
    await store.grantLease(2_000, leaseCall());
  });

  it('that is paused does not respond in time, and serves again when it is resumed', async () => {
    await using alone = await startConsul();
    await using store = await openConsul({ endpoint: hostOf(alone) });
    await alone.pause();
    const read = async (): Promise<unknown> => {
      // A response may still have been on its way.
      return store.read('a', { timeoutMs: 300 }).then(
        () => undefined,
        (error: unknown) => error,
      );
    };
    const error = await until(read, { what: 'the first timeout' });
    expect(error).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    expect(await openingFailure({ endpoint: hostOf(alone), connectTimeoutMs: 500 })).toMatchObject({ code: 'TIMEOUT' });
    await alone.resume();
    await until(
      () =>
        store
          .read('a', CALL)
          .then(() => true)
          .catch(() => undefined),
      { what: 'the first response', withinMs: 20_000 },
    );
  });

  it('whose certificate has an unknown issuer or another name is not trusted', async () => {
    const { ca: path = '', client } = secure.tls ?? {};
    const ca = await readFile(path, 'utf8');
    const [cert, key] = await Promise.all([client?.cert ?? '', client?.key ?? ''].map((file) => readFile(file)));
    const pair = { cert: cert ?? '', key: key ?? '' };
    expect(await openingFailure({ endpoint: hostOf(secure), tls: pair })).toMatchObject({ code: 'UNAUTHENTICATED', outcome: 'refused' });
    expect(await openingFailure({ endpoint: hostOf(secure), tls: { ca, ...pair, servername: 'elsewhere.example' } })).toMatchObject({
      code: 'UNAUTHENTICATED',
      outcome: 'refused',
    });
    const files = new URLSearchParams({ ca: path, cert: client?.cert ?? '', key: client?.key ?? '' });
    await using store = await openConsul(`consuls://${hostOf(secure)}/tls?${files.toString()}`);
    expect(await store.read('a', CALL)).toBeUndefined();
    await store.grantLease(2_000, leaseCall());
  });

  it('that requires a client certificate refuses a client without one', async () => {
    const ca = await readFile(secure.tls?.ca ?? '', 'utf8');
    expect(await openingFailure({ endpoint: hostOf(secure), tls: { ca } })).toMatchObject({ code: 'UNAUTHENTICATED', outcome: 'refused' });
  });

  it('without TLS is UNSUPPORTED for a client with TLS, and the other way round', async () => {
    expect(await openingFailure({ endpoint: hostOf(consul), tls: {} })).toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused' });
    expect(await openingFailure({ endpoint: hostOf(secure) })).toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused' });
  });

  it('shows what the store wrote in its own tool, and the other way round', async () => {
    const namespace = uniqueNamespace();
    await using store = await openConsul({ endpoint: hostOf(consul), namespace });
    await store.compareAndSwap([{ key: 'a/b', expect: null, put: Buffer.from('ours') }], CALL);
    expect(await consul.ctl(['kv', 'get', `${namespace}/a/b`])).toBe('ours\n');
    await consul.ctl(['kv', 'put', `${namespace}/a/b`, 'theirs']);
    await consul.ctl(['kv', 'put', `${namespace}/a/c`, 'new']);
    const entries = await store.list('a', CALL);
    expect(entries.map(({ key, value }) => [key, Buffer.from(value).toString()])).toEqual([
      ['a/b', 'theirs'],
      ['a/c', 'new'],
    ]);
    await consul.ctl(['kv', 'delete', '-recurse', `${namespace}/`]);
    expect(await store.read('a/b', CALL)).toBeUndefined();
  });

  it('lets nobody lock the keys of a revoked lease during the lock delay, which does not apply to a deleted key', async () => {
    const namespace = uniqueNamespace();
    await using store = await openConsul({ endpoint: hostOf(consul), namespace, lockDelayMs: 1_000 });
    const take = async (on: Store) =>
      on.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array(), lease: (await on.grantLease(60_000, leaseCall())).id }], CALL);
    const first = await store.grantLease(60_000, leaseCall());
    const { revisions } = {
      revisions: [''],
      ...(await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array(), lease: first.id }], CALL)),
    };
    await store.compareAndSwap([{ key: 'a', expect: revisions[0] ?? '', delete: true }], CALL);
    expect(await take(store)).toMatchObject({ swapped: true });
    const locked = await store.read('a', CALL);
    await store.revokeLease(locked?.lease ?? '', CALL);
    const endedAt = performance.now();
    await expect(take(store)).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'refused' });
    await until(
      () =>
        take(store)
          .then(({ swapped }) => swapped || undefined)
          .catch(() => undefined),
      // Consul's default is 15 s.
      { what: 'the end of the delay', withinMs: 10_000 },
    );
    expect(performance.now() - endedAt).toBeGreaterThan(900);
  });

  it('is reached through a socket that the caller opens', async () => {
    await using proxy = await startProxy(consul.url);
    const { hostname: host, port } = new URL(proxy.url);
    await using store = await openConsul({
      endpoint: 'consul.internal',
      namespace: uniqueNamespace(),
      connect: (_, signal) => connectSocket({ host, port: Number(port) }, {}, signal),
    });
    expect(await store.read('a', CALL)).toBeUndefined();
    expect(proxy.stats().connections.opened).toBeGreaterThan(0);
  });
});
