import { readFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';

import { freePort, requireStore, startConsul, startProxy, uniqueNamespace, until, type ConsulServer } from '@incumbent/test-support';
import { Member, type Store } from '@incumbent/core';
import { connectSocket } from '@incumbent/network';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openConsul, type ConsulOptions } from '../src/index.ts';

const CONNECT_MS = 3_000;
const CALL = { timeoutMs: 5_000 };
const TOKEN = '11111111-2222-3333-4444-555555555555';

/** What opening ends with, and that it does so in time. */
async function failureOf(options: ConsulOptions): Promise<unknown> {
  const from = performance.now();
  const failure: unknown = await openConsul({ connectTimeoutMs: CONNECT_MS, ...options }).then(
    () => 'it opened',
    (error: unknown) => error,
  );
  expect(performance.now() - from).toBeLessThan(4 * CONNECT_MS);
  return failure;
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function at({ url }: { readonly url: string }): string {
  return new URL(url).host;
}

function now() {
  return { ...CALL, at: { monotonicMs: performance.now(), wallMs: Date.now() } };
}

describe('an agent that cannot serve', () => {
  it('is not there', async () => {
    expect(await failureOf({ endpoint: `127.0.0.1:${await freePort()}` })).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
  });

  it('has a name that nobody knows', async () => {
    expect(await failureOf({ endpoint: 'nobody.invalid' })).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
  });

  it('accepts and is silent', async () => {
    const server = createServer(() => {});
    const endpoint = await listen(server);
    expect(await failureOf({ endpoint, connectTimeoutMs: 500 })).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    expect(await failureOf({ endpoint, connectTimeoutMs: 500, tls: {} })).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
    server.close();
  });

  it('is no Consul', async () => {
    const http = createHttpServer((_, response) => response.end('hello'));
    expect(await failureOf({ endpoint: await listen(http) })).toMatchObject({ code: 'UNSUPPORTED' });
    http.closeAllConnections();
    http.close();
    const other = createServer((socket) => socket.end('SSH-2.0-OpenSSH_9.2p1\r\n'));
    expect(await failureOf({ endpoint: await listen(other) })).toMatchObject({ code: 'UNSUPPORTED' });
    other.close();
  });
});

describe.runIf(await requireStore({ store: 'consul', own: true }))('a Consul', () => {
  let consul: ConsulServer;
  let secure: ConsulServer;
  let strict: ConsulServer;

  beforeAll(async () => {
    const ruled = { managementToken: TOKEN };
    [consul, secure, strict] = await Promise.all([startConsul(), startConsul({ tls: 'mutual' }), startConsul(ruled)]);
  });
  afterAll(() => Promise.all([consul, secure, strict].map((server) => server.stop())));

  it('that is not the datacenter asked for is UNAVAILABLE', async () => {
    expect(await failureOf({ endpoint: at(consul), datacenter: 'dc2' })).toMatchObject({ code: 'UNAVAILABLE' });
    await using store = await openConsul(`consul://${at(consul)}/${uniqueNamespace()}?dc=dc1`);
    await store.grantLease(2_000, now());
  });

  it('that stands still does not answer in time, and serves again when it goes on', async () => {
    await using alone = await startConsul();
    await using store = await openConsul({ endpoint: at(alone) });
    await alone.pause();
    const read = async (): Promise<unknown> => {
      // What was on its way may be answered still.
      return store.read('a', { timeoutMs: 300 }).then(
        () => undefined,
        (error: unknown) => error,
      );
    };
    const error = await until(read, { what: 'it stands still' });
    expect(error).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    expect(await failureOf({ endpoint: at(alone), connectTimeoutMs: 500 })).toMatchObject({ code: 'TIMEOUT' });
    await alone.resume();
    await until(
      () =>
        store
          .read('a', CALL)
          .then(() => true)
          .catch(() => undefined),
      { what: 'it is back', withinMs: 20_000 },
    );
  });

  it('of a certificate that nobody vouches for, or of another name, is not trusted', async () => {
    const { ca: path = '', client } = secure.tls ?? {};
    const ca = await readFile(path, 'utf8');
    const [cert, key] = await Promise.all([client?.cert ?? '', client?.key ?? ''].map((file) => readFile(file)));
    const pair = { cert: cert ?? '', key: key ?? '' };
    expect(await failureOf({ endpoint: at(secure), tls: pair })).toMatchObject({ code: 'UNAUTHENTICATED', outcome: 'refused' });
    expect(await failureOf({ endpoint: at(secure), tls: { ca, ...pair, servername: 'elsewhere.example' } })).toMatchObject({
      code: 'UNAUTHENTICATED',
      outcome: 'refused',
    });
    const files = new URLSearchParams({ ca: path, cert: client?.cert ?? '', key: client?.key ?? '' });
    await using store = await openConsul(`consuls://${at(secure)}/tls?${files.toString()}`);
    expect(await store.read('a', CALL)).toBeUndefined();
    await store.grantLease(2_000, now());
  });

  it('that asks for a certificate does not serve who has none', async () => {
    const ca = await readFile(secure.tls?.ca ?? '', 'utf8');
    expect(await failureOf({ endpoint: at(secure), tls: { ca } })).toMatchObject({ code: 'UNAUTHENTICATED', outcome: 'refused' });
  });

  it('is not taken for one that speaks TLS, nor the other way round', async () => {
    expect(await failureOf({ endpoint: at(consul), tls: {} })).toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused' });
    expect(await failureOf({ endpoint: at(secure) })).toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused' });
  });

  /** A token with these rules. */
  async function tokenFor(rules: string): Promise<string> {
    const name = uniqueNamespace('policy');
    await strict.ctl(['acl', 'policy', 'create', `-name=${name}`, `-rules=${rules}`]);
    const told = await strict.ctl(['acl', 'token', 'create', `-policy-name=${name}`]);
    return /SecretID:\s+(\S+)/.exec(told)?.[1] ?? '';
  }

  it('does not know a wrong token, and does not serve without one', async () => {
    const wrong = '99999999-2222-3333-4444-555555555555';
    const error = await failureOf({ endpoint: at(strict), token: wrong });
    expect(error).toMatchObject({ code: 'UNAUTHENTICATED', outcome: 'refused' });
    expect(String(error)).not.toContain(wrong);
    expect(await failureOf({ endpoint: at(strict) })).toMatchObject({ code: 'PERMISSION_DENIED', outcome: 'refused' });
  });

  it('refuses what a token does not allow, each by its code', async () => {
    const namespace = uniqueNamespace();
    const reader = await tokenFor(`key_prefix "${namespace}/" { policy = "read" }`);
    await using store = await openConsul({ endpoint: at(strict), namespace, token: reader });
    // It may not have the agent keep checks.
    expect(store.capabilities.minTtlMs).toBe(10_000);
    expect(await store.read('a', CALL)).toBeUndefined();
    const denied = { code: 'PERMISSION_DENIED', outcome: 'refused' };
    await expect(store.grantLease(10_000, now())).rejects.toMatchObject(denied);
    await expect(store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array() }], CALL)).rejects.toMatchObject(denied);
    await expect(store.enqueue('q', 'a', new Uint8Array(), TOKEN, CALL)).rejects.toMatchObject(denied);
    expect(await failureOf({ endpoint: at(strict), namespace, token: reader, session: 'check' })).toMatchObject(denied);
    await using other = await openConsul({ endpoint: at(strict), namespace, token: TOKEN });
    const watch = other.watch('a', { signal: new AbortController().signal })[Symbol.asyncIterator]();
    expect(await watch.next()).toEqual({ done: false, value: undefined });
    await using member = new Member(store, { memberId: 'a' });
    await expect(member.election('controller').campaign()).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('needs no other permissions than the README names, and elections on them work', async () => {
    const namespace = uniqueNamespace();
    const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
    const rules = (/```hcl\n([^`]*)```/.exec(readme)?.[1] ?? '').replaceAll('my-app/', `${namespace}/`);
    await using store = await openConsul({ endpoint: at(strict), namespace, token: await tokenFor(rules) });
    expect(store.capabilities.minTtlMs).toBe(1_000);
    await using member = new Member(store, { memberId: 'a', ttlMs: 2_000 });
    const leadership = await member.election('controller').campaign();
    expect(leadership.term).toBe(1n);
    await leadership.resign();
  });

  /** What a token with these rights, of those that the README names, meets at opening, and at a campaign. */
  async function met(
    { keys = 'write', rest }: { readonly keys?: 'read' | 'write' | 'none'; readonly rest: readonly string[] },
    session: 'auto' | 'check',
  ): Promise<string> {
    const namespace = uniqueNamespace();
    const rules = [...(keys === 'none' ? [] : [`key_prefix "${namespace}/" { policy = "${keys}" }`]), ...rest].join(' ');
    const options = { endpoint: at(strict), namespace, token: await tokenFor(rules), session, connectTimeoutMs: CONNECT_MS };
    const from = performance.now();
    const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : String(error));
    const store = await openConsul(options).catch(codeOf);
    if (typeof store === 'string') return `${store} at opening`;
    await using _closing = store;
    await using member = new Member(store, { memberId: 'a', ttlMs: 10_000 });
    const told = await member
      .election('controller')
      .campaign()
      .then(async (leadership) => {
        await leadership.resign();
        return `leads, ${store.capabilities.minTtlMs} ms`;
      }, codeOf);
    // Bounded, not timed: this machine may be busy.
    expect(performance.now() - from).toBeLessThan(2 * CONNECT_MS + 5_000);
    return told;
  }

  const SESSIONS = 'session_prefix "" { policy = "write" }';
  const NODES = 'node_prefix "" { policy = "write" }';

  it.each([
    ['a key right', { keys: 'none', rest: [SESSIONS, NODES] }, 'PERMISSION_DENIED at opening', 'PERMISSION_DENIED at opening'],
    ['the right to write keys', { keys: 'read', rest: [SESSIONS, NODES] }, 'PERMISSION_DENIED', 'PERMISSION_DENIED'],
    ['the right to sessions', { rest: [NODES] }, 'PERMISSION_DENIED', 'PERMISSION_DENIED'],
    ['the right to the node', { rest: [SESSIONS] }, 'leads, 10000 ms', 'PERMISSION_DENIED at opening'],
    ['no right', { rest: [SESSIONS, NODES] }, 'leads, 1000 ms', 'leads, 1000 ms'],
  ] as const)('whose token lacks %s says so, in bounded time, or binds sessions to no check', async (_, lacking, auto, check) => {
    expect([await met(lacking, 'auto'), await met(lacking, 'check')]).toEqual([auto, check]);
  });

  it('ends a watch that is no longer allowed, with the code', async () => {
    const namespace = uniqueNamespace();
    const token = await tokenFor(`key_prefix "${namespace}/" { policy = "read" }`);
    await using store = await openConsul({ endpoint: at(strict), namespace, token, watchWaitMs: 1_000 });
    const watch = store.watch('a', { signal: new AbortController().signal })[Symbol.asyncIterator]();
    expect(await watch.next()).toEqual({ done: false, value: undefined });
    const next = watch.next();
    // It may end before it is waited for.
    next.catch(() => {});
    const accessors = (await strict.ctl(['acl', 'token', 'list'])).match(/(?<=AccessorID:\s+)\S+/g) ?? [];
    for (const id of accessors) {
      const told = await strict.ctl(['acl', 'token', 'read', `-id=${id}`]);
      if (told.includes(token)) await strict.ctl(['acl', 'token', 'delete', `-id=${id}`]);
    }
    await expect(next).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('shows its own tool what was written, and the other way round', async () => {
    const namespace = uniqueNamespace();
    await using store = await openConsul({ endpoint: at(consul), namespace });
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

  it('keeps its keys from others after a session that it ended, for the lock delay, and not after one that was released', async () => {
    const namespace = uniqueNamespace();
    await using store = await openConsul({ endpoint: at(consul), namespace, lockDelayMs: 1_000 });
    const take = async (on: Store) =>
      on.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array(), lease: (await on.grantLease(60_000, now())).id }], CALL);
    const first = await store.grantLease(60_000, now());
    const { revisions } = {
      revisions: [''],
      ...(await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array(), lease: first.id }], CALL)),
    };
    await store.compareAndSwap([{ key: 'a', expect: revisions[0] ?? '', delete: true }], CALL);
    expect(await take(store)).toMatchObject({ swapped: true });
    const held = await store.read('a', CALL);
    await store.revokeLease(held?.lease ?? '', CALL);
    const endedAt = performance.now();
    await expect(take(store)).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'refused' });
    await until(
      () =>
        take(store)
          .then(({ swapped }) => swapped || undefined)
          .catch(() => undefined),
      // Where nothing is said it would be 15 s.
      { what: 'the delay is over', withinMs: 10_000 },
    );
    expect(performance.now() - endedAt).toBeGreaterThan(900);
  });

  it('is reached through a tunnel of the caller’s own', async () => {
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
