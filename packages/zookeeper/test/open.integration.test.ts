import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

import { requireStore, startZookeeper, uniqueNamespace, type ZookeeperServer } from '@incumbent/test-support';
import { closedEndpoint, openingFailure, withWrongServer, type WrongServer } from '@incumbent/test-support/wrong-server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openZookeeper, type ZookeeperOptions } from '../src/index.ts';

const CONNECT_MS = 3_000;
const CALL = { timeoutMs: 5_000 };

/** The ACL that errors advise. */
const GRANTED = 'auth::cdrwa,digest:USER:HASH:cdrw, where HASH is the output of';

/** How an ACL names a user: by a hash, as the README says. */
function idOf({ username, password }: { readonly username: string; readonly password: string }): string {
  return `digest:${username}:${createHash('sha1').update(`${username}:${password}`).digest('base64')}`;
}

/** The error with which opening fails, in bounded time. */
function failureOf(options: ZookeeperOptions): Promise<unknown> {
  return openingFailure(() => openZookeeper({ connectTimeoutMs: CONNECT_MS, ...options }), CONNECT_MS);
}

describe('a server that is not ZooKeeper', () => {
  it.each<[WrongServer, object]>([
    ['accepts and sends nothing', { code: 'UNREACHABLE', outcome: 'notSent' }],
    ['sends garbage', { code: 'UNSUPPORTED' }],
    ['ends every connection', { code: expect.stringMatching(/^UN/) }],
    ['speaks HTTP', { code: expect.stringMatching(/^UN/) }],
  ])('and that %s is recognised in bounded time', async (kind, expected) => {
    await withWrongServer(kind, async (endpoint) => expect(await failureOf({ endpoints: [endpoint] })).toMatchObject(expected));
  });

  it('and does not exist is unreachable', async () => {
    const endpoints = [await closedEndpoint()];
    expect(await failureOf({ endpoints })).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
  });
});

describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('a zookeeper', () => {
  let server: ZookeeperServer;
  let secure: ZookeeperServer;
  const at = ({ url }: ZookeeperServer): readonly string[] => [new URL(url).host];

  beforeAll(async () => {
    [server, secure] = await Promise.all([startZookeeper(), startZookeeper({ tls: 'server' })]);
  });
  afterAll(() => Promise.all([server.stop(), secure.stop()]));

  it('needs no right on the parent of a namespace that exists', async () => {
    const parent = uniqueNamespace();
    const namespace = `${parent}/inner`;
    const credentials = { username: 'alice', password: 'right' };
    await using _outer = await openZookeeper({ endpoints: at(server), namespace: parent, credentials });
    const strange = { endpoints: at(server), namespace, credentials: { username: 'bob', password: 'right' } };
    expect(await failureOf(strange)).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { right: 'create', keys: [`/${namespace}`], grant: expect.stringContaining(`create /${namespace} "" ${GRANTED}`) },
    });
    await using inner = await openZookeeper({ endpoints: at(server), namespace, credentials, acl: 'open' });
    expect(inner.namespace).toBe(namespace);
    await using store = await openZookeeper(strange);
    expect(await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array([1]) }], CALL)).toMatchObject({ swapped: true });
  });

  it('needs the rights cdrw, and no others, on a namespace that belongs to an administrator', async () => {
    const namespace = uniqueNamespace();
    const credentials = { username: 'my-app', password: 'right' };
    const acl = `${idOf({ username: 'admin', password: 'own' })}:cdrwa,${idOf(credentials)}:cdrw`;
    await server.ctl(['create', `/${namespace}`, '', acl]);
    await using store = await openZookeeper({ endpoints: at(server), namespace, credentials });
    const value = new Uint8Array([1]);
    expect(await store.compareAndSwap([{ key: 'a/b', expect: null, put: value }], CALL)).toMatchObject({ swapped: true });
    const [entry] = await store.list('a', CALL);
    expect(entry).toMatchObject({ key: 'a/b', value });
    const { id } = await store.grantLease(2_000, { ...CALL, at: { monotonicMs: performance.now(), wallMs: Date.now() } });
    expect(await store.enqueue('queue', 'name', value, id, CALL)).toMatchObject({ name: 'name' });
    await store.revokeLease(id, CALL);
    expect(await store.compareAndSwap([{ key: 'a/b', expect: entry!.revision, delete: true }], CALL)).toMatchObject({ swapped: true });
    expect(await store.read('a/b', CALL)).toBeUndefined();
  });

  it('lets nobody but its credentials at what a store makes with them', async () => {
    const namespace = uniqueNamespace();
    const alice = { username: 'alice', password: 'right' };
    await using store = await openZookeeper({ endpoints: at(server), namespace, credentials: alice });
    await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array([1]) }], CALL);
    for (const credentials of [{ ...alice, password: 'wrong' }, undefined]) {
      const options = { endpoints: at(server), namespace, ...(credentials === undefined ? {} : { credentials }) };
      await using other = await openZookeeper(options);
      const path = `/${namespace}/a`;
      const read = { right: 'read', keys: [path], grant: expect.stringContaining(`setAcl -R /${namespace} ${GRANTED}`) };
      const why = credentials === undefined ? 'opened without credentials' : 'with a wrong password, a user has no rights';
      const message = expect.stringMatching(new RegExp(`missing: read on "${path}"; to grant it: .*${why}`));
      await expect(other.read('a', CALL)).rejects.toMatchObject({ code: 'PERMISSION_DENIED', outcome: 'refused', message, details: read });
      await expect(other.compareAndSwap([{ key: 'b', expect: null, put: new Uint8Array() }], CALL)).rejects.toMatchObject({
        code: 'PERMISSION_DENIED',
        outcome: 'refused',
        details: { right: 'create, write and delete', keys: [`/${namespace}/b`] },
      });
      const watch = other.watch('a', { signal: new AbortController().signal })[Symbol.asyncIterator]();
      await expect(watch.next()).rejects.toMatchObject({ code: 'PERMISSION_DENIED', message, details: read });
    }
    await using again = await openZookeeper({ endpoints: at(server), namespace, credentials: alice });
    expect((await again.read('a', CALL))?.value).toEqual(new Uint8Array([1]));
  });

  it('with a certificate of an unknown authority or of another name is not trusted', async () => {
    const path = secure.tls?.ca ?? '';
    const ca = await readFile(path, 'utf8');
    expect(await failureOf({ endpoints: at(secure), tls: {} })).toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(await failureOf({ endpoints: at(secure), tls: { ca, servername: 'elsewhere.example' } })).toMatchObject({
      code: 'UNAUTHENTICATED',
    });
    await using store = await openZookeeper(`${secure.url}/tls?ca=${encodeURIComponent(path)}`);
    expect(await store.read('a', CALL)).toBeUndefined();
  });

  it('without TLS is not taken for one with TLS, nor the reverse', async () => {
    expect(await failureOf({ endpoints: at(server), tls: {} })).toMatchObject({ code: expect.stringMatching(/^UN/) });
    expect(await failureOf({ endpoints: at(secure) })).toMatchObject({ code: expect.stringMatching(/^UN/) });
  });

  it('grants sessions of 2 to 20 ticks, and reports it', async () => {
    await using store = await openZookeeper({ endpoints: at(server) });
    expect(store.capabilities).toMatchObject({ minTtlMs: 1_000, maxTtlMs: 10_000, assignableLease: false });
  });

  it('shows what the store wrote to its own tool, and the reverse', async () => {
    const namespace = uniqueNamespace();
    await using store = await openZookeeper({ endpoints: at(server), namespace });
    await store.compareAndSwap([{ key: 'a/b', expect: null, put: Buffer.from('ours') }], CALL);
    expect(await server.ctl(['get', `/${namespace}/a/b`])).toContain('ours');
    await server.ctl(['set', `/${namespace}/a/b`, 'theirs']);
    await server.ctl(['create', `/${namespace}/a/c`, 'new']);
    const entries = await store.list('a', CALL);
    expect(entries.map(({ key, value, revision }) => [key, Buffer.from(value).toString(), revision])).toEqual([
      ['a/b', 'theirs', '1'],
      ['a/c', 'new', '0'],
    ]);
    await server.ctl(['deleteall', `/${namespace}`]);
    expect(await store.read('a/b', CALL)).toBeUndefined();
    expect(await store.compareAndSwap([{ key: 'a/b', expect: null, put: Buffer.from('again') }], CALL)).toMatchObject({ swapped: true });
  });
});
