/** Stores with the settings of real clients, beside these clients. */

import { requireStore, startRedis, startSentinels, type RedisSentinels, type RedisServer } from '@incumbent/test-support';
import { Redis, type RedisOptions as IoredisOptions } from 'ioredis';
import { readFileSync } from 'node:fs';
import { createClient, createSentinel } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Member } from '@incumbent/core';

import { openRedis, type RedisClientOptions } from '../src/index.ts';

const WITHIN_MS = 60_000;

/** A leader on a store with the client's settings. */
async function leads(client: RedisClientOptions['client']): Promise<void> {
  await using store = await openRedis({ client, namespace: 'app' });
  await using member = new Member(store, { memberId: 'm', ttlMs: 5_000 });
  const leadership = await member.election('controller', { acceptWeakStore: 'redis' }).campaign();
  expect(leadership.isValid()).toBe(true);
  // The reaper's process has the settings as text.
  expect(store.revocation).toBeDefined();
  await leadership.resign();
}

/**
 * A client of ioredis that answers before and after a store has opened and closed with its
 * settings.
 */
async function withIoredis(options: IoredisOptions): Promise<void> {
  const client = new Redis(options);
  try {
    expect(await client.ping()).toBe('PONG');
    await leads(client);
    expect(await client.ping()).toBe('PONG');
  } finally {
    client.disconnect();
  }
}

/** The same with a client of redis. */
async function withNodeRedis(options: NonNullable<Parameters<typeof createClient>[0]>): Promise<void> {
  const client = createClient(options);
  // The client emits errors of its own connection, which end the process if nobody listens.
  client.on('error', () => {});
  await client.connect();
  try {
    expect(await client.ping()).toBe('PONG');
    await leads(client);
    expect(await client.ping()).toBe('PONG');
  } finally {
    client.destroy();
  }
}

const addressOf = ({ url }: { readonly url: string }): { readonly host: string; readonly port: number } => {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
};

const pemOf = (server: Pick<RedisServer, 'tls'> | undefined): { readonly ca: string; readonly cert: string; readonly key: string } => {
  const read = (file: string | undefined): string => readFileSync(file ?? '', 'utf8');
  const tls = server?.tls;
  return { ca: read(tls?.ca), cert: read(tls?.client.cert), key: read(tls?.client.key) };
};

describe.runIf(await requireStore({ store: 'redis', own: true }))('the settings of a client', { timeout: 3 * WITHIN_MS }, () => {
  it('open the server that the client uses, in the database that it uses', async () => {
    await using server = await startRedis();
    await withIoredis({ ...addressOf(server), db: 2 });
    await withNodeRedis({ url: server.url, database: 3 });
    const keysIn = async (db: number): Promise<string> => server.ctl(['-n', String(db), '--scan', '--pattern', '{app}*term*']);
    expect([await keysIn(0), await keysIn(2), await keysIn(3)].map((keys) => keys.includes('controller/term'))).toEqual([
      false,
      true,
      true,
    ]);
  });

  it('open a server that has a password', async () => {
    await using server = await startRedis();
    await server.ctl(['config', 'set', 'requirepass', 'pass@word']);
    await withIoredis({ ...addressOf(server), password: 'pass@word' });
    await withNodeRedis({ url: `redis://:${encodeURIComponent('pass@word')}@${new URL(server.url).host}` });
  });

  it('open a server whose users have names, and that requires certificates', async () => {
    const auth = { user: 'app', password: 'of-the-servers' };
    await using server = await startRedis({ auth, tls: 'mutual' });
    const login = { username: auth.user, password: auth.password };
    await withIoredis({ ...addressOf(server), ...login, tls: pemOf(server) });
    await withNodeRedis({ ...login, socket: { ...addressOf(server), ...pemOf(server), tls: true } });
  });

  it('with a wrong password fail as the store does, without the password', async () => {
    await using server = await startRedis();
    await server.ctl(['config', 'set', 'requirepass', 'right']);
    const client = new Redis({ ...addressOf(server), password: 'secret', lazyConnect: true });
    const error: unknown = await openRedis({ client }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(String(error)).not.toContain('secret');
  });
});

describe.runIf(await requireStore({ store: 'redis', own: true }))(
  'the settings of a client of Sentinels',
  { timeout: 3 * WITHIN_MS },
  () => {
    const [auth, sentinelAuth] = [
      { user: 'app', password: 'of-the-servers' },
      { user: 'finder', password: 'of-the-sentinels' },
    ];
    let group: RedisSentinels;

    beforeAll(async () => {
      group = await startSentinels({ auth, sentinelAuth, tls: 'mutual' });
    }, 2 * WITHIN_MS);
    afterAll(() => group.stop());

    const pem = ([one]: RedisSentinels['servers']): ReturnType<typeof pemOf> => pemOf(one);

    it('open the primary, with both logins and certificates, from ioredis', async () => {
      await withIoredis({
        sentinels: group.sentinels.map(addressOf),
        name: group.master,
        username: auth.user,
        password: auth.password,
        sentinelUsername: sentinelAuth.user,
        sentinelPassword: sentinelAuth.password,
        enableTLSForSentinelMode: true,
        tls: pem(group.servers),
        sentinelTLS: pem(group.sentinels),
      });
    });

    it('open the primary from the options of createSentinel', async () => {
      const options = {
        name: group.master,
        sentinelRootNodes: group.sentinels.map(addressOf),
        nodeClientOptions: { username: auth.user, password: auth.password, socket: { ...pem(group.servers), tls: true as const } },
        sentinelClientOptions: {
          username: sentinelAuth.user,
          password: sentinelAuth.password,
          socket: { ...pem(group.sentinels), tls: true as const },
        },
      };
      const client = createSentinel(options);
      client.on('error', () => {});
      await client.connect();
      try {
        expect(await client.get('key')).toBeNull();
        await leads(options);
        expect(await client.get('key')).toBeNull();
      } finally {
        await client.destroy();
      }
    });
  },
);
