/** The settings that the store takes over from clients. No client connects. */

import { Member } from '@incumbent/core';
import { describe, expect, it } from 'vitest';

import { Cluster, type ClusterNode, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { Cluster as NewerCluster, Redis as NewerRedis } from 'ioredis-6';
import * as nodeRedis6 from 'redis';
import * as nodeRedis5 from 'redis-5';

import { openRedis, type RedisClient, type RedisClientOptions } from '../src/index.ts';
import { optionsOfClient } from '../src/client-option/client-option.ts';

const TLS = { ca: 'CA', cert: 'CERT', key: 'KEY', servername: 'redis.internal', rejectUnauthorized: false };
const lazyConnect = true;

const taken = (client: RedisClientOptions['client'], own: Omit<RedisClientOptions, 'client'> = {}): unknown =>
  optionsOfClient({ client, ...own });

const ioredis5 = {
  version: 5,
  redis: (options: RedisOptions): RedisClient => new Redis({ lazyConnect, ...options }),
  redisAt: (url: string, options: RedisOptions = {}): RedisClient => new Redis(url, { lazyConnect, ...options }),
  cluster: (nodes: ClusterNode[], options: ClusterOptions = {}): RedisClient => new Cluster(nodes, { lazyConnect, ...options }),
};

/** The types of the two versions differ, in settings that no test uses. */
const ioredis6: typeof ioredis5 = {
  version: 6,
  redis: (options) => Reflect.construct(NewerRedis, [{ lazyConnect, ...options }]),
  redisAt: (url, options) => Reflect.construct(NewerRedis, [url, { lazyConnect, ...options }]),
  cluster: (nodes, options) => Reflect.construct(NewerCluster, [nodes, { lazyConnect, ...options }]),
};

describe.each([ioredis5, ioredis6])('a client of ioredis $version', ({ redis, redisAt, cluster }) => {
  it('without options is the default server', () => {
    expect(taken(redis({}))).toEqual({ endpoints: ['localhost:6379'], db: 0 });
  });

  it('gives servers, login, database and TLS, from a URL or options', () => {
    const expected = { endpoints: ['one:7000'], credentials: { username: 'alice', password: 's@crt' }, db: 3 };
    expect(taken(redisAt('rediss://alice:s%40crt@one:7000/3', { tls: { ...TLS, ca: ['CA'] } }))).toEqual({
      ...expected,
      tls: { ...TLS, ca: ['CA'] },
    });
    expect(taken(redis({ host: 'one', port: 7000, username: 'alice', password: 's@crt', db: 3 }))).toEqual(expected);
    expect(taken(redis({ host: '::1', password: 'p' }))).toMatchObject({
      endpoints: ['[::1]:6379'],
      credentials: { password: 'p' },
    });
  });

  it('gives Sentinels with their own login and TLS', () => {
    const client = redis({
      sentinels: [{ host: 's1', port: 1 }, { host: 's2' }, { host: 's1', port: 1 }],
      name: 'mymaster',
      username: 'alice',
      password: 'p',
      sentinelUsername: 'finder',
      sentinelPassword: 'q',
      enableTLSForSentinelMode: true,
      tls: TLS,
      sentinelTLS: { ca: 'OTHER' },
      db: 2,
    });
    const sentinel = {
      endpoints: ['s1:1', 's2:26379'],
      master: 'mymaster',
      credentials: { username: 'finder', password: 'q' },
      tls: { ca: 'OTHER' },
    };
    expect(taken(client)).toEqual({ sentinel, credentials: { username: 'alice', password: 'p' }, tls: TLS, db: 2 });
  });

  it('speaks TLS with servers behind Sentinels only if it is told to, and so does the store', () => {
    const client = redis({ sentinels: [{ host: 's1', port: 1 }], name: 'mymaster', tls: TLS });
    expect(taken(client)).toEqual({ sentinel: { endpoints: ['s1:1'], master: 'mymaster' }, db: 0 });
  });

  it('gives the nodes of a cluster, however they are written', () => {
    const nodes = ['redis://h1:1', 'h2:2', 3, '4', { host: 'h5' }, { host: 'h5', port: 6379 }, '[::1]:6'];
    const client = cluster(nodes, { redisOptions: { username: 'alice', password: 'p', tls: TLS } });
    expect(taken(client)).toEqual({
      endpoints: ['h1:1', 'h2:2', '127.0.0.1:3', '127.0.0.1:4', 'h5:6379', '[::1]:6'],
      credentials: { username: 'alice', password: 'p' },
      tls: TLS,
    });
    const inUrls = cluster(['rediss://:p@h1:1', 'rediss://:p@h2:2']);
    expect(taken(inUrls)).toEqual({ endpoints: ['h1:1', 'h2:2'], credentials: { password: 'p' }, tls: {} });
  });

  it.each<[string, () => RedisClient]>([
    ['client.options.path', () => redis({ path: '/run/secret.sock' })],
    ['client.options.natMap', () => redis({ natMap: { 'secret:1': { host: 'a', port: 1 } } })],
    ['client.options.natMap', () => cluster([1], { natMap: { 'secret:1': { host: 'a', port: 1 } } })],
    ['client.options.useSRVRecords', () => cluster(['secret'], { useSRVRecords: true })],
    ['client.options.tls.pfx', () => redis({ tls: { pfx: 'secret' } })],
    ['client.options.tls.checkServerIdentity', () => redis({ tls: { checkServerIdentity: () => undefined } })],
    ['client.options.redisOptions.tls.passphrase', () => cluster([1], { redisOptions: { tls: { passphrase: 'secret' } } })],
    ['client is a client of a cluster', () => cluster(['redis://:secret@a', 'redis://:secrets@b'])],
  ])('with %s that the store cannot take over is refused, and the error names it', async (named, make) => {
    const error = await failureOf({ client: make() });
    expect(error.message.startsWith(named)).toBe(true);
  });
});

type Options = nodeRedis6.RedisClientOptions;

const redis6 = {
  version: 6,
  createClient: (options?: Options): RedisClient => nodeRedis6.createClient(options),
  createCluster: (options: nodeRedis6.RedisClusterOptions): RedisClient => nodeRedis6.createCluster(options),
  createSentinel: (options: nodeRedis6.RedisSentinelOptions): RedisClient => nodeRedis6.createSentinel(options),
  createClientPool: (options: Options): RedisClient => nodeRedis6.createClientPool(options),
};

const redis5: typeof redis6 = {
  version: 5,
  createClient: (options) => Reflect.apply(nodeRedis5.createClient, undefined, [options]),
  createCluster: (options) => Reflect.apply(nodeRedis5.createCluster, undefined, [options]),
  createSentinel: (options) => Reflect.apply(nodeRedis5.createSentinel, undefined, [options]),
  createClientPool: (options) => Reflect.apply(nodeRedis5.createClientPool, undefined, [options]),
};

describe.each([redis5, redis6])('a client of redis $version', ({ createClient, createCluster, createSentinel, createClientPool }) => {
  it('without options is the default server', () => {
    expect(taken(createClient())).toEqual({ endpoints: ['localhost:6379'] });
  });

  it('gives server, login, database and TLS, from a URL or options', () => {
    const expected = { endpoints: ['one:7000'], credentials: { username: 'alice', password: 's@crt' }, db: 3 };
    expect(taken(createClient({ url: 'rediss://alice:s%40crt@one:7000/3', socket: { ...TLS, tls: true } }))).toEqual({
      ...expected,
      tls: TLS,
    });
    const socket = { host: 'one', port: 7000 };
    expect(taken(createClient({ socket, username: 'alice', password: 's@crt', database: 3 }))).toEqual(expected);
    expect(taken(createClient({ socket: { ...socket, ...TLS, tls: true } }))).toEqual({ endpoints: ['one:7000'], tls: TLS });
    expect(taken(createClient({ url: 'redis://:p@[::1]' }))).toEqual({ endpoints: ['[::1]:6379'], credentials: { password: 'p' } });
  });

  it('gives the nodes of a cluster', () => {
    const rootNodes = [{ url: 'redis://h1:1' }, { socket: { host: 'h2', port: 2 } }, { url: 'redis://h1:1' }];
    const defaults = { username: 'alice', password: 'p', socket: { tls: true as const, ca: 'CA' } };
    expect(taken(createCluster({ rootNodes, defaults }))).toEqual({
      endpoints: ['h1:1', 'h2:2'],
      credentials: { username: 'alice', password: 'p' },
      tls: { ca: 'CA' },
    });
    expect(taken(createCluster({ rootNodes: [{ url: 'rediss://:p@h1:1' }] }))).toEqual({
      endpoints: ['h1:1'],
      credentials: { password: 'p' },
      tls: {},
    });
  });

  it('of Sentinels keeps its settings to itself, and its options give them', async () => {
    const options = {
      name: 'mymaster',
      sentinelRootNodes: [{ host: 's1', port: 1 }],
      nodeClientOptions: { username: 'alice', password: 'p', database: 2, socket: { tls: true as const, ca: 'CA' } },
      sentinelClientOptions: { username: 'finder', password: 'secret' },
    };
    const error = await failureOf({ client: createSentinel(options) });
    expect(error.message).toContain('the options that createSentinel was given');
    expect(taken(options)).toEqual({
      sentinel: { endpoints: ['s1:1'], master: 'mymaster', credentials: { username: 'finder', password: 'secret' } },
      credentials: { username: 'alice', password: 'p' },
      tls: { ca: 'CA' },
      db: 2,
    });
  });

  const provider = { type: 'async-credentials-provider' as const, credentials: () => Promise.resolve({ password: 'secret' }) };

  it.each<[string, () => RedisClient]>([
    ['client.options.socket.path', () => createClient({ socket: { path: '/run/secret.sock', tls: false } })],
    ['client.options.credentialsProvider', () => createClient({ credentialsProvider: provider })],
    ['client.options.socket.passphrase', () => createClient({ socket: { host: 'a', tls: true, passphrase: 'secret' } })],
    ['client._options.nodeAddressMap', () => createCluster({ rootNodes: [{ url: 'redis://a' }], nodeAddressMap: {} })],
    ['client._options.rootNodes[0].url', () => createCluster({ rootNodes: [{ url: 'secret' }] })],
    ['client is a client of the package redis', () => createClientPool({ url: 'redis://:secret@a' })],
  ])('with %s that the store cannot take over is refused, and the error names it', async (named, make) => {
    const error = await failureOf({ client: make() });
    expect(error.message.startsWith(named)).toBe(true);
  });

  it('whose login comes from a provider is taken over with a login of its own', () => {
    const credentials = { password: 'p' };
    expect(taken(createClient({ credentialsProvider: provider }), { credentials })).toMatchObject({ credentials });
  });
});

describe('options besides the client', () => {
  it('replace what the client has', () => {
    const client = new Redis('rediss://:p@one/3', { lazyConnect, tls: { pfx: 'secret' } });
    const own = { db: 1, tls: { ca: 'CA' }, credentials: { password: 'q' }, namespace: 'app', connectTimeoutMs: 700 };
    expect(taken(client, own)).toEqual({ endpoints: ['one:6379'], ...own });
  });

  it('replace its TLS too if connect is one of them', () => {
    const connect = (): never => expect.unreachable('nobody connects');
    const secure = new Redis('rediss://one', { lazyConnect, tls: { pfx: 'secret' } });
    expect(taken(secure, { connect })).toEqual({ endpoints: ['one:6379'], db: 0, connect });
    const sentinels = [{ host: 'two', port: 1 }];
    const options = { lazyConnect, sentinels, name: 'm', tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true };
    expect(taken(new Redis(options), { connect })).toEqual({ db: 0, sentinel: { endpoints: ['two:1'], master: 'm' }, connect });
  });

  it.each<[string, unknown]>([
    ['a client that is none', { client: 'redis://:secret@one' }],
    ['no client', { client: undefined }],
    ['the constructor in place of a client', { client: Redis }],
    ['an object that is no client', { client: { host: 'secret' } }],
    ['servers too', { client: new Redis({ lazyConnect }), endpoints: ['secret'] }],
  ])('are refused with %s', async (_, options) => {
    await failureOf(options);
  });
});

/** The error of opening, which is `INVALID_OPTION` and shows no secret. */
async function failureOf(options: unknown): Promise<Error> {
  const opening: Promise<unknown> = Reflect.apply(openRedis, undefined, [options]);
  const error: unknown = await opening.catch((reason: unknown) => reason);
  if (!(error instanceof Error)) throw new Error('openRedis has resolved');
  expect(error).toMatchObject({ code: 'INVALID_OPTION' });
  expect(`${error.stack} ${JSON.stringify(error)}`).not.toContain('secret');
  return error;
}

describe('a client in place of an open store', () => {
  const clients: readonly (readonly [string, object])[] = [
    ...[ioredis5, ioredis6].flatMap(({ version, redis, cluster }) => [
      [`Redis of ioredis ${version}`, redis({})] as const,
      [`Cluster of ioredis ${version}`, cluster(['127.0.0.1:1'])] as const,
    ]),
    ...[nodeRedis5, nodeRedis6].flatMap((library, index) => {
      const made = (create: (options: never) => unknown, options: object): object => Reflect.apply(create, library, [options]);
      const [nodes, sentinels] = [[{ url: 'redis://127.0.0.1:1' }], [{ host: '127.0.0.1', port: 1 }]];
      return [
        [`createClient of redis ${index + 5}`, made(library.createClient, {})] as const,
        [`createCluster of redis ${index + 5}`, made(library.createCluster, { rootNodes: nodes })] as const,
        [`createSentinel of redis ${index + 5}`, made(library.createSentinel, { name: 'm', sentinelRootNodes: sentinels })] as const,
      ];
    }),
  ];

  it.each(clients)('is refused with the call to make: %s', async (_, client) => {
    expect(() => Reflect.construct(Member, [client])).toThrow(
      'store is a client of Redis: it must be an open store, as openRedis({ client }) of @incumbent/redis resolves with',
    );
    await expect(Reflect.apply(openRedis, undefined, [client])).rejects.toThrow(
      'redis options is a client of Redis: it must be a URL or an object: openRedis({ client })',
    );
  });
});
