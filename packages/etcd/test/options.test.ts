import { refusesOptions, refusesUrls, THREE_SERVERS, threeServers, withCertificateFile } from '@incumbent/test-support/options-suite';
import { describe, expect, it } from 'vitest';

import { openEtcd } from '@incumbent/etcd';

import { readOptions } from '../src/options.ts';

describe('a URL', () => {
  it('names members, user, namespace and times', () => {
    const url = `etcd://alice:s%40crt%3A@${THREE_SERVERS}/team/app?connectTimeoutMs=700&keepaliveIntervalMs=6000&keepaliveTimeoutMs=900`;
    expect(readOptions(url)).toMatchObject({
      endpoints: threeServers(2379),
      credentials: { username: 'alice', password: 's@crt:' },
      namespace: 'team/app',
      connectTimeoutMs: 700,
      keepalive: { intervalMs: 6_000, timeoutMs: 900 },
      secure: false,
    });
  });

  it('has defaults for everything except the host', () => {
    for (const url of ['etcd://one', 'etcd://one/', 'etcd://one?']) {
      expect(readOptions(url)).toMatchObject({
        endpoints: [{ host: 'one', port: 2379 }],
        namespace: 'incumbent',
        connectTimeoutMs: 5_000,
        keepalive: { intervalMs: 10_000, timeoutMs: 3_000 },
      });
    }
  });

  it('with the scheme etcds uses TLS, with certificates from files', () =>
    withCertificateFile((ca) => {
      expect(readOptions(`etcds://one?ca=${ca}&servername=etcd.internal`)).toMatchObject({ secure: true });
      expect(() => readOptions(`etcds://one?ca=${ca}.none`)).toThrow('cannot be read: ENOENT');
    }));

  refusesUrls(openEtcd, 'etcd', [['a user without a password', 'etcd://secret@one']]);

  it('never shows its password in an error', async () => {
    for (const url of ['etcd://alice:hunter2@', 'etcd://alice:hunter2@one:0', 'etcd://alice:hunter2@one?x=1', 'bad://alice:hunter2@one']) {
      const error: unknown = await openEtcd(url).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'INVALID_OPTION' });
      expect(JSON.stringify([String(error), error])).not.toContain('hunter2');
    }
  });
});

describe('options', () => {
  const endpoints = ['one:2379'];

  refusesOptions(openEtcd, { endpoints }, [
    ['empty endpoints', { endpoints: [] }],
    ['an endpoint with a scheme', { endpoints: ['http://one:2379'] }],
    ['an endpoint that is no string', { endpoints: [2379] }],
    ['one endpoint twice', { endpoints: ['one', 'one:2379'] }],
    ['an unknown option of keepalive', { endpoints, keepalive: { interval: 10_000 } }],
    ['pings that etcd would not stand', { endpoints, keepalive: { intervalMs: 1_000 } }],
    ['a namespace that is none', { endpoints, namespace: '' }],
    ['credentials without a name', { endpoints, credentials: { username: '', password: 'x' } }],
    ['credentials without a password', { endpoints, credentials: { username: 'alice' } }],
    ['tls that is no object', { endpoints, tls: true }],
  ]);

  it('are refused with a message that says what is wrong', async () => {
    await expect(openEtcd({ endpoints, connectTimeoutMs: 1 })).rejects.toThrow(
      'connectTimeoutMs is 1: it must be a number from 100 to 600000',
    );
  });
});
