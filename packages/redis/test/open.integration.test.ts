import { readFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';

import { Member, type Store } from '@incumbent/core';
import { requireStore, startRedis, uniqueNamespace, type RedisServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openRedis, type RedisOptions } from '../src/index.ts';

const CONNECT_MS = 2_000;
const CALL = { timeoutMs: 5_000 };
const LEASE_CALL = { ...CALL, at: { monotonicMs: 0, wallMs: 0 } };

/** What opening ends with, and that it does so in time. */
async function failureOf(options: RedisOptions): Promise<unknown> {
  const from = performance.now();
  const failure: unknown = await openRedis({ connectTimeoutMs: CONNECT_MS, ...options }).then(
    () => 'it opened',
    (error: unknown) => error,
  );
  // Bounded, not timed: this machine may be busy.
  expect(performance.now() - from).toBeLessThan(2 * CONNECT_MS);
  return failure;
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (!isAddress(address)) throw new TypeError('a TCP server has a port');
  return `127.0.0.1:${address.port}`;
}

function isAddress(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === 'object' && address !== null;
}

const at = ({ url }: RedisServer): readonly string[] => [new URL(url).host];

const put = (store: Store, key: string): Promise<unknown> => store.compareAndSwap([{ key, expect: null, put: new Uint8Array([1]) }], CALL);

describe('what is no Redis', () => {
  it.each<[string, () => Server, object]>([
    ['accepts and says nothing', () => createServer(), { code: 'UNREACHABLE', outcome: 'notSent' }],
    [
      'says garbage',
      () => createServer((socket) => void socket.on('error', () => {}).write(new Uint8Array(300).fill(0xee))),
      { code: 'UNSUPPORTED' },
    ],
    ['ends every connection', () => createServer((socket) => void socket.on('error', () => {}).destroy()), { code: 'UNREACHABLE' }],
    [
      'speaks HTTP',
      () =>
        createHttpServer({ insecureHTTPParser: true }, (_, response) => {
          response.end('hello');
        }),
      { code: 'UNSUPPORTED' },
    ],
  ])('but %s is told apart in bounded time', async (_, make, expected) => {
    const server = make();
    const endpoint = await listening(server);
    expect(await failureOf({ endpoints: [endpoint] })).toMatchObject(expected);
    server.close();
  });

  it('but is not there at all, or has no address, is unreachable', async () => {
    const server = createServer();
    const endpoint = await listening(server);
    await new Promise((resolve) => server.close(resolve));
    for (const where of [endpoint, 'no-such-host.invalid'])
      expect(await failureOf({ endpoints: [where] })).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
  });
});

describe.runIf(await requireStore({ store: 'redis', own: true }))('a redis', () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  const open = (options: Partial<RedisOptions> = {}): Promise<Store> =>
    openRedis({ endpoints: at(server), namespace: uniqueNamespace(), ...options });

  it('is refused by an election that was not told to accept it', async () => {
    await using store = await open();
    await using member = new Member(store);
    expect(() => member.election('controller')).toThrow(expect.objectContaining({ code: 'WEAK_STORE' }));
    const leadership = await member.election('controller', { acceptWeakStore: 'redis' }).campaign();
    expect(leadership.isValid()).toBe(true);
  });

  it('keeps databases and namespaces apart, watches as well', async () => {
    const namespace = uniqueNamespace();
    await using one = await open({ namespace });
    await using two = await open({ namespace, db: 2 });
    await using three = await open({ namespace: `${namespace}/a` });
    const stop = new AbortController();
    const watches = [two, three].map((store) => store.watchList('k', { signal: stop.signal })[Symbol.asyncIterator]());
    for (const watch of watches) expect((await watch.next()).value).toEqual([]);
    await put(one, 'k/a');
    await put(two, 'k/b');
    expect((await one.list('k', CALL)).map(({ key }) => key)).toEqual(['k/a']);
    expect((await two.list('k', CALL)).map(({ key }) => key)).toEqual(['k/b']);
    expect(await three.list('k', CALL)).toEqual([]);
    const next: unknown = (await watches[0]?.next())?.value;
    expect(next).toMatchObject([{ key: 'k/b' }]);
    stop.abort();
  });

  it('that has no such database is refused', async () => {
    expect(await failureOf({ endpoints: at(server), db: 99 })).toMatchObject({ code: 'UNSUPPORTED' });
  });

  it('that knows no script any more is given it again', async () => {
    await using store = await open();
    await put(store, 'a');
    await server.ctl(['script', 'flush', 'sync']);
    expect((await store.read('a', CALL))?.key).toBe('a');
  });

  it('that is stuck in another script turns calls away, and serves afterwards', async () => {
    await using busy = await startRedis({ flags: ['--busy-reply-threshold', '50'] });
    await using store = await openRedis({ endpoints: at(busy) });
    const endless = busy.ctl(['eval', 'while true do end', '0']).catch(() => {});
    await expect
      .poll(() => put(store, 'a').catch((error: unknown) => error), { timeout: 5_000 })
      .toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent' });
    await busy.ctl(['script', 'kill']);
    await endless;
    expect(await put(store, 'b')).toMatchObject({ swapped: true });
  });

  it('shows redis-cli what was written; who writes or deletes by it is seen', async () => {
    const namespace = uniqueNamespace();
    await using store = await open({ namespace });
    await store.compareAndSwap([{ key: 'a/b', expect: null, put: Buffer.from('ours') }], CALL);
    expect(await server.ctl(['hget', `{${namespace}}/a/b`, 'v'])).toBe('ours\n');
    await server.ctl(['set', `{${namespace}}/a/b`, 'theirs']);
    const [entry] = await store.list('a', CALL);
    expect(Buffer.from(entry?.value ?? []).toString()).toBe('theirs');
    await server.ctl(['del', `{${namespace}}/a/b`]);
    expect(await store.list('a', CALL)).toEqual([]);
    expect(await put(store, 'a/b')).toMatchObject({ swapped: true });
  });

  it('keeps nothing of leases that nobody renewed, though nobody reads what was bound to them', async () => {
    const namespace = uniqueNamespace();
    await using store = await open({ namespace });
    const lease = await store.grantLease(100, LEASE_CALL);
    for (const name of ['a', 'b']) await store.enqueue('q', name, new Uint8Array(), lease.id, CALL);
    await new Promise((resolve) => setTimeout(resolve, 150));
    const kept = await store.grantLease(60_000, LEASE_CALL);
    const keys = (await server.ctl(['--scan', '--pattern', `{${namespace}}*`])).trim().split('\n');
    expect(keys.toSorted()).toEqual([':clock', `:lease:${kept.id}`, ':leases'].map((rest) => `{${namespace}}${rest}`));
  });
});

describe.runIf(await requireStore({ store: 'redis', own: true }))('a redis with users', () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedis({ auth: { user: 'alice', password: 'secret' } });
    await server.ctl(['acl', 'setuser', 'mute', 'on', '>secret', '~*', '&*', '+@all', '-publish', '-zadd']);
    await server.ctl(['acl', 'setuser', 'elsewhere', 'on', '>secret', '~{other}*', '&*', '+@all']);
    await server.ctl(['acl', 'setuser', 'deaf', 'on', '>secret', '~*', 'resetchannels', '+@all']);
    await server.ctl(['acl', 'setuser', 'unscripted', 'on', '>secret', '~*', '&*', '+@all', '-@scripting']);
  });
  afterAll(() => server.stop());

  it.each<[string, RedisOptions['credentials']]>([
    ['a wrong password', { username: 'alice', password: 'wrong' }],
    ['a user that there is not', { username: 'nobody', password: 'secret' }],
    ['nobody', undefined],
    ['a password alone, where that is no user’s', { password: 'secret' }],
  ])('does not let %s in', async (_, credentials) => {
    const options = { endpoints: at(server), ...(credentials === undefined ? {} : { credentials }) };
    const failure = await failureOf(options);
    expect(failure).toMatchObject({ code: 'UNAUTHENTICATED', outcome: 'refused' });
    expect(String(failure)).not.toContain('secret');
  });

  it.each<[string, string, RegExp]>([
    ['who may not run two of the commands', 'mute', /may not use zadd, publish,/],
    ['of other keys', 'elsewhere', /no permissions to access one of the keys/],
    ['of no channels', 'deaf', /may not use publish, subscribe,/],
    ['who may not run scripts', 'unscripted', /evalsha/],
  ])('says what a user lacks %s', async (_, username, message) => {
    const failure = await failureOf({ endpoints: at(server), namespace: 'team/app', credentials: { username, password: 'secret' } });
    expect(failure).toMatchObject({ code: 'PERMISSION_DENIED', outcome: 'refused', message: expect.stringMatching(message) });
  });

  it('needs no more rights than the README says', async () => {
    const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
    const rights = [...readme.matchAll(/^A user needs[^]*?^$/gm)].flatMap(([text]) => text.match(/(?<=[`\s])[~&+][^\s`]+/g) ?? []);
    expect(rights.length).toBeGreaterThan(20);
    await server.ctl(['acl', 'setuser', 'minimal', 'reset', 'on', '>secret', ...rights]);
    await using store = await openRedis({
      endpoints: at(server),
      namespace: 'my-app',
      credentials: { username: 'minimal', password: 'secret' },
    });
    await using member = new Member(store, { memberId: 'a', ttlMs: 5_000 });
    const leadership = await member.election('controller', { acceptWeakStore: 'redis' }).campaign();
    await leadership.publish('hello');
    await leadership.resign();
    expect(await store.list('elections/controller/candidates', CALL)).toEqual([]);
  });

  it('whose user loses a right later says so, and ends its watches', async () => {
    await server.ctl(['acl', 'setuser', 'bob', 'reset', 'on', '>secret', '~*', '&*', '+@all']);
    await using store = await openRedis({ endpoints: at(server), credentials: { username: 'bob', password: 'secret' } });
    await server.ctl(['acl', 'setuser', 'bob', '-evalsha']);
    await expect(put(store, 'a')).rejects.toMatchObject({ code: 'PERMISSION_DENIED', outcome: 'refused' });
    const watch = store.watch('a', { signal: new AbortController().signal })[Symbol.asyncIterator]();
    await expect(watch.next()).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });
});

describe.runIf(await requireStore({ store: 'redis', own: true }))('a redis by TLS', () => {
  let secure: RedisServer;

  beforeAll(async () => {
    secure = await startRedis({ tls: 'server' });
  });
  afterAll(() => secure.stop());

  it('of a certificate that nobody vouches for, or of another name, is not trusted', async () => {
    const path = secure.tls?.ca ?? '';
    const ca = await readFile(path, 'utf8');
    expect(await failureOf({ endpoints: at(secure), tls: {} })).toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(await failureOf({ endpoints: at(secure), tls: { ca, servername: 'elsewhere.example' } })).toMatchObject({
      code: 'UNAUTHENTICATED',
    });
    await using store = await openRedis(`${secure.url}/tls?ca=${encodeURIComponent(path)}`);
    await using trusting = await openRedis({ endpoints: at(secure), tls: { rejectUnauthorized: false } });
    expect([await store.read('a', CALL), await trusting.read('a', CALL)]).toEqual([undefined, undefined]);
  });

  it('is not taken for one that speaks in plain text, nor the other way round', async () => {
    await using plain = await startRedis();
    expect(await failureOf({ endpoints: at(plain), tls: {} })).toMatchObject({ code: expect.stringMatching(/^UN/) });
    expect(await failureOf({ endpoints: at(secure) })).toMatchObject({ code: expect.stringMatching(/^UN/), message: /TLS/ });
  });

  it('that asks for a certificate is shown one', async () => {
    await using mutual = await startRedis({ tls: 'mutual' });
    const { ca = '', client } = mutual.tls ?? {};
    const query = `ca=${encodeURIComponent(ca)}`;
    const pair = `cert=${encodeURIComponent(client?.cert ?? '')}&key=${encodeURIComponent(client?.key ?? '')}`;
    await using store = await openRedis(`${mutual.url}/mutual?${query}&${pair}`);
    expect(await store.read('a', CALL)).toBeUndefined();
    await expect(openRedis(`${mutual.url}/mutual?${query}&connectTimeoutMs=2000`)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });
});

describe.runIf(await requireStore({ store: 'redis', own: true }))('a redis that cannot take writes', () => {
  it('as its memory is full refuses what needs more, and keeps what is there', async () => {
    await using full = await startRedis();
    await using store = await openRedis({ endpoints: at(full) });
    const lease = await store.grantLease(60_000, LEASE_CALL);
    await store.enqueue('q', 'mine', new Uint8Array(), lease.id, CALL);
    await full.ctl(['config', 'set', 'maxmemory', '100kb']);
    const refused = { code: 'UNAVAILABLE', outcome: 'refused' };
    await expect(put(store, 'a')).rejects.toMatchObject(refused);
    await expect(store.enqueue('q', 'other', new Uint8Array(), lease.id, CALL)).rejects.toMatchObject(refused);
    await expect(store.grantLease(60_000, LEASE_CALL)).rejects.toMatchObject(refused);
    await store.renewLease(lease.id, LEASE_CALL);
    expect((await store.list('q', CALL)).map(({ name }) => name)).toEqual(['mine']);
    await using another = await openRedis({ endpoints: at(full) });
    await another.revokeLease(lease.id, CALL);
    expect(await another.list('q', CALL)).toEqual([]);
  });

  it('as it still reads what it keeps is not used yet', async () => {
    // It looks after its clients once in 1,024 commands that it reads: every 100 ms.
    await using loading = await startRedis({ flags: ['--key-load-delay', '100'] });
    await loading.ctl(['eval', "for i = 1, 20000 do redis.call('SET', 'k' .. i, i) end", '0']);
    await using store = await openRedis({ endpoints: at(loading) });
    const restarted = loading.restart();
    const refused: unknown[] = [];
    const opened = async (): Promise<boolean> => {
      const failure = await failureOf({ endpoints: at(loading) });
      if (failure !== 'it opened') refused.push(failure);
      return failure === 'it opened';
    };
    await expect.poll(opened, { timeout: 20_000 }).toBe(true);
    expect(refused).toContainEqual(
      expect.objectContaining({ code: 'UNAVAILABLE', outcome: 'notSent', message: expect.stringContaining('LOADING') }),
    );
    await restarted;
    expect(await store.read('a', CALL)).toBeUndefined();
  });

  it('or may evict keys is not used at all', async () => {
    await using evicting = await startRedis({ flags: ['--maxmemory-policy', 'volatile-lru'] });
    expect(await failureOf({ endpoints: at(evicting) })).toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('maxmemory-policy is volatile-lru, and must be noeviction'),
    });
  });

  it('as it is a replica is passed over; when that takes writes in its leader’s place, it is used', async () => {
    await using first = await startRedis();
    await using second = await startRedis();
    const [host = '', port = ''] = new URL(first.url).host.split(':');
    await second.ctl(['replicaof', host, port]);
    await expect.poll(() => second.ctl(['info', 'replication']), { timeout: 10_000 }).toContain('master_link_status:up');
    expect(await failureOf({ endpoints: at(second) })).toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent' });
    await using store = await openRedis({ endpoints: [...at(second), ...at(first)] });
    await put(store, 'a');
    await expect.poll(() => second.ctl(['exists', '{incumbent}/a']), { timeout: 5_000 }).toBe('1\n');
    const stop = new AbortController();
    const seen: unknown[] = [];
    const watching = (async () => {
      for await (const entry of store.watch('b', { signal: stop.signal })) seen.push(entry?.key);
    })();
    await expect.poll(() => seen).toEqual([undefined]);
    // As Sentinel does it.
    await second.ctl(['replicaof', 'no', 'one']);
    const [otherHost = '', otherPort = ''] = new URL(second.url).host.split(':');
    await first.ctl(['replicaof', otherHost, otherPort]);
    const writes = async (): Promise<unknown> => put(store, 'b').catch(() => 'not yet');
    await expect.poll(writes, { timeout: 10_000 }).toMatchObject({ swapped: true });
    expect(await second.ctl(['exists', '{incumbent}/b'])).toBe('1\n');
    await expect.poll(() => seen.at(-1), { timeout: 10_000 }).toBe('b');
    expect((await store.read('a', CALL))?.key).toBe('a');
    stop.abort();
    await watching;
  });
});

describe.runIf(await requireStore({ store: 'redis', own: true }))('a redis that starts again without its data', () => {
  it('has no lease any more, which watches and renewals tell, and goes on above what it gave before', async () => {
    await using server = await startRedis({ persistent: false });
    await using store = await openRedis({ endpoints: at(server) });
    const lease = await store.grantLease(60_000, LEASE_CALL);
    const before = await store.enqueue('q', 'mine', new Uint8Array(), lease.id, CALL);
    const stop = new AbortController();
    const states: number[] = [];
    const watching = (async () => {
      for await (const entries of store.watchList('q', { signal: stop.signal })) states.push(entries.length);
    })();
    await expect.poll(() => states).toEqual([1]);
    await server.restart();
    await expect.poll(() => states, { timeout: 10_000 }).toEqual([1, 0]);
    await expect(store.renewLease(lease.id, LEASE_CALL)).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    const fresh = await store.grantLease(60_000, LEASE_CALL);
    const after = await store.enqueue('q', 'mine', new Uint8Array(), fresh.id, CALL);
    expect(after.order > before.order && BigInt(after.revision) > BigInt(before.revision)).toBe(true);
    stop.abort();
    await watching;
  });
});
