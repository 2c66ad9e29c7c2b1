import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ElectionObserver, Member, openStore } from 'incumbent';
import { freePort, startEtcd, until, type EtcdServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freshNamespace, storeUrl } from './checks/pair.ts';

let etcd: EtcdServer;
beforeAll(async () => {
  etcd = await startEtcd({ auth: { user: 'alice', password: 'secret' } });
});
afterAll(async () => etcd.stop());

function authUrl(user: string, password: string, namespace: string = freshNamespace()): string {
  return storeUrl([etcd.url], namespace).replace('etcd://', `etcd://${user}:${password}@`);
}

async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'no error',
    (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
  );
}

describe('bad input gets a clear error with its code', () => {
  it.each(['mongodb://localhost/x', 'no url at all', ''])('openStore(%j): UNKNOWN_SCHEME, naming those that it knows', async (url) => {
    await expect(openStore(url)).rejects.toMatchObject({
      code: 'UNKNOWN_SCHEME',
      message: expect.stringContaining('etcd:, etcds:, kubernetes:, memory:'),
    });
  });

  it.each(['MEMORY:', new URL('memory:shared')])('openStore(%s) opens, as text in capitals or as an object', async (url) => {
    await using store = await openStore(url);
    expect(store.name).toBe('memory');
  });

  it('an unreachable store: UNREACHABLE, within the connect timeout', async () => {
    expect(await codeOf(openStore(`etcd://127.0.0.1:${await freePort()}/x?connectTimeoutMs=1000`))).toBe('UNREACHABLE');
  });

  it('an unreachable store, with waitMs: opens when its server is there', async () => {
    await using late = await startEtcd();
    await late.kill();
    const tries: unknown[] = [];
    const opening = openStore(storeUrl([late.url], freshNamespace()), { waitMs: Infinity, onRetry: (error) => tries.push(error) });
    await until(() => tries.length >= 2, { what: 'two tries have failed' });
    expect(tries[0]).toMatchObject({ code: 'UNREACHABLE' });
    await late.restart();
    await using store = await opening;
    expect(store.name).toBe('etcd');
  });

  it('an unreachable store, with waitMs: the last error when that is over, and the reason of a signal at once', async () => {
    const url = `etcd://127.0.0.1:${await freePort()}/x`;
    let tries = 0;
    expect(await codeOf(openStore(url, { waitMs: 1_000, onRetry: () => (tries += 1) }))).toBe('UNREACHABLE');
    expect(tries).toBeGreaterThan(0);
    const caller = new AbortController();
    const opening = openStore(url, { waitMs: 600_000, signal: caller.signal, onRetry: () => caller.abort(new Error('enough')) });
    await expect(opening).rejects.toThrow('enough');
  });

  it('a store that a retry does not open: at once, also with waitMs', async () => {
    expect(await codeOf(openStore('mongodb://localhost/x', { waitMs: Infinity }))).toBe('UNKNOWN_SCHEME');
    expect(await codeOf(openStore(authUrl('alice', 'wrong'), { waitMs: Infinity }))).toBe('UNAUTHENTICATED');
  });

  it.each([{ waitMs: -1 }, { waitMs: 'long' }, { wait: 5 }, { onRetry: 5 }])('openStore with %j: INVALID_OPTION', async (options) => {
    expect(await codeOf(Reflect.apply(openStore, undefined, ['memory:', options]))).toBe('INVALID_OPTION');
  });

  it('a server of another kind on the port: an error in bounded time, and not a hang', async () => {
    const server = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    expect(await codeOf(openStore(`etcd://127.0.0.1:${port}/x?connectTimeoutMs=1000`))).toMatch(/^(UNSUPPORTED|UNREACHABLE)$/);
    server.closeAllConnections();
    server.close();
  });

  it('a wrong password: UNAUTHENTICATED', async () => {
    expect(await codeOf(openStore(authUrl('alice', 'wrong')))).toBe('UNAUTHENTICATED');
  });

  it('no permission: lead and campaign reject with PERMISSION_DENIED, and nothing hangs', async () => {
    await etcd.ctl(['user', 'add', 'bob:secret']);
    await using store = await openStore(authUrl('bob', 'secret'));
    await using member = new Member(store);
    expect(await codeOf(member.election('controller').campaign())).toBe('PERMISSION_DENIED');
    expect(await codeOf(member.election('controller').lead(() => 1))).toBe('PERMISSION_DENIED');
    await using observer = new ElectionObserver(store, 'controller');
    expect(await codeOf(observer.ready)).toBe('PERMISSION_DENIED');
  });

  it('a user limited to the namespace can campaign there', async () => {
    const namespace = freshNamespace();
    await etcd.ctl(['role', 'add', 'limited']);
    await etcd.ctl(['role', 'grant-permission', '--prefix=true', 'limited', 'readwrite', `${namespace}/`]);
    await etcd.ctl(['user', 'add', 'carol:secret']);
    await etcd.ctl(['user', 'grant-role', 'carol', 'limited']);
    await using store = await openStore(authUrl('carol', 'secret', namespace));
    await using member = new Member(store);
    const leadership = await member.election('controller').campaign();
    expect(leadership.term).toBe(1n);
    await leadership.resign();
  });

  it.each([
    [{ ttlMs: 1 }, /ttlMs is 1: it must be a number from/],
    [{ ttlMs: '10s' }, /ttlMs is a string of 3 characters/],
    [{ ttlMs: 10_000, drainMs: 9_000 }, /drainMs is 9000: it must be a number from 0 to 5000/],
    [
      { ttlMs: 10_000, renewEveryMs: 8_000 },
      /renewEveryMs \+ callTimeoutMs \+ 1.25 × retryEveryMs \+ the 100 ms .* is 11225: it must be at most/,
    ],
    [{ memberId: 'a/b' }, /memberId is "a\/b"/],
    [{ memberID: 'a' }, /member option "memberID"/],
    [{ onDuplicate: 'panic' }, /onDuplicate is a string of 5 characters: it must be one of/],
  ])('new Member(store, %j): says the option, the value and the range', async (options, message) => {
    await using store = await openStore(authUrl('alice', 'secret'));
    expect(() => new Member(store, options as object)).toThrow(message);
  });

  it('a promise in place of a store is told as such', () => {
    expect(() => new Member(openStore('memory:') as never)).toThrow(/store is an object: it must be an open store/);
  });

  it.each(['', 'a/b', '..', 'x'.repeat(129), 'ü'])('election name %j: INVALID_NAME', async (name) => {
    await using store = await openStore('memory:');
    await using member = new Member(store);
    expect(() => member.election(name)).toThrow(expect.objectContaining({ code: 'INVALID_NAME' }));
  });

  it('foreign and newer data under the keys: FOREIGN_DATA, NEWER_FORMAT', async () => {
    const namespace = freshNamespace();
    const ctl = (...args: readonly string[]): Promise<string> => etcd.ctl(args);
    await using store = await openStore(authUrl('alice', 'secret', namespace));
    await using member = new Member(store);
    await ctl('put', `${namespace}/elections/a/term`, 'garbage');
    expect(await codeOf(member.election('a').campaign())).toBe('FOREIGN_DATA');
    await ctl('put', `${namespace}/elections/b/term`, '{"v":2}');
    expect(await codeOf(member.election('b').campaign())).toBe('NEWER_FORMAT');
    await ctl('put', `${namespace}/elections/c/leader`, 'garbage');
    await using observer = new ElectionObserver(store, 'c');
    expect(await codeOf(observer.ready)).toBe('FOREIGN_DATA');
  });
});
