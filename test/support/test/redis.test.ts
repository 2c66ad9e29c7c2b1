import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { text } from 'node:stream/consumers';

import { describe, expect, test } from 'vitest';

import { requireStore, sharedRedis, startRedis, uniqueNamespace, type RedisServer } from '../src/index.ts';
import { gone } from './gone.ts';

describe.runIf(await requireStore({ store: 'redis', own: true }))('a Redis of one’s own', () => {
  test('serves, and redis-cli says what is there; what it cannot do is an error', async () => {
    await using redis = await startRedis();
    expect(redis.version).toMatch(/^\d+\.\d+\.\d+$/);
    await redis.ctl(['set', 'probe', 'value']);
    await expect(redis.ctl(['get', 'probe'])).resolves.toBe('value\n');
    await expect(redis.ctl(['lpush', 'probe', 'value'])).rejects.toThrow(/WRONGTYPE/);
  });

  test('has after a kill what it had before; one that keeps nothing does not', async () => {
    await using kept = await startRedis();
    await using lost = await startRedis({ persistent: false });
    for (const redis of [kept, lost]) {
      await redis.ctl(['set', 'key', 'value']);
      await redis.restart();
    }
    await expect(kept.ctl(['get', 'key'])).resolves.toBe('value\n');
    await expect(lost.ctl(['get', 'key'])).resolves.toBe('\n');
  });

  test('stands still while paused, and goes on', async () => {
    await using redis = await startRedis();
    await redis.pause();
    // No redis-cli: a container that is paused runs nothing.
    const answer = ping(redis);
    await expect(Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 200, 'nothing'))])).resolves.toBe('nothing');
    await redis.resume();
    await expect(answer).resolves.toContain('+PONG');
  });

  test('lets nobody in but its user', async () => {
    await using redis = await startRedis({ auth: { user: 'alice', password: 'secret' } });
    await expect(redis.ctl(['acl', 'whoami'])).resolves.toBe('alice\n');
    await expect(redis.ctl(['--user', 'alice', '--pass', 'wrong', 'get', 'key'])).rejects.toThrow(/NOAUTH/);
  });

  test('with TLS shows its certificate, and demands one where it is to', async () => {
    await using redis = await startRedis({ tls: 'mutual' });
    expect(redis.url).toMatch(/^rediss:/);
    await expect(redis.ctl(['ping'])).resolves.toBe('PONG\n');
    const { ca = '', client } = redis.tls ?? {};
    const trusting = { ca: await readFile(ca), cert: await readFile(client?.cert ?? ''), key: await readFile(client?.key ?? '') };
    await expect(ping(redis, trusting)).resolves.toContain('+PONG');
    await expect(ping(redis, { ca: trusting.ca })).rejects.toThrow(/certificate required/);
    await expect(ping(redis, {})).rejects.toThrow(/certificate/);
  });

  test('is gone when it is stopped', async () => {
    const redis = await startRedis();
    await redis.stop();
    await redis.stop();
    await expect(gone(redis.url.replace('redis:', 'http:'))).resolves.toBe(true);
  });
});

describe.runIf(await requireStore({ store: 'redis' }))('the shared Redis', () => {
  test('is one for everyone who asks', async () => {
    const [one, other] = await Promise.all([sharedRedis(), sharedRedis()]);
    expect(one.url).toBe(other.url);
    const key = uniqueNamespace();
    await one.ctl(['set', key, 'value']);
    await expect(other.ctl(['getdel', key])).resolves.toBe('value\n');
  });
});

describe.runIf(await requireStore({ store: 'redis', version: 'newer', own: true }))('a newer Redis', () => {
  test('is a Valkey, and serves', async () => {
    await using valkey = await startRedis({ version: 'newer', tls: 'server' });
    expect(Number(valkey.version.split('.')[0])).toBeGreaterThanOrEqual(8);
    await expect(valkey.ctl(['info', 'server'])).resolves.toContain('valkey_version');
  });
});

/** What a server says to a PING over TLS with these settings. */
/** In plain text where there are no settings. */
function ping({ url }: RedisServer, settings?: ConnectionOptions): Promise<string> {
  const { hostname, port } = new URL(url);
  const address = { host: hostname, port: Number(port) };
  const socket = settings === undefined ? connect(address) : connectTls({ ...settings, ...address });
  socket.write('PING\r\nQUIT\r\n');
  return text(socket);
}
