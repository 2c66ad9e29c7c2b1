import { refusesOptions, refusesUrls, withCertificateFile } from '@incumbent/test-support/options-suite';
import { openConsul } from '@incumbent/consul';
import { describe, expect, it } from 'vitest';

import { readOptions } from '../src/options.ts';

describe('a URL', () => {
  it('names the agent, token, namespace, datacenter, and how sessions and watches are made', async () => {
    const url =
      'consul://:s%40crt@[::1]:1/team/app?dc=dc1&ns=ours&session=ttl&lockDelayMs=5&connectTimeoutMs=700&watchWaitMs=2000&maxBlockingQueries=8&minSessionTtlMs=1000';
    expect(await readOptions(url)).toMatchObject({
      endpoint: { host: '::1', port: 1 },
      token: 's@crt',
      namespace: 'team/app',
      scope: { dc: 'dc1', ns: 'ours' },
      session: 'ttl',
      lockDelayMs: 5,
      connectTimeoutMs: 700,
      watchWaitMs: 2_000,
      maxBlockingQueries: 8,
      minSessionTtlMs: 1_000,
    });
  });

  it('needs only a host', async () => {
    for (const url of ['consul://one', 'consul://one/', 'consul://one?'])
      expect(await readOptions(url)).toMatchObject({
        endpoint: { host: 'one', port: 8500 },
        namespace: 'incumbent',
        token: undefined,
        scope: {},
        session: 'auto',
        lockDelayMs: 0,
        connectTimeoutMs: 5_000,
        watchWaitMs: 10_000,
        maxBlockingQueries: 64,
        minSessionTtlMs: 10_000,
      });
  });

  it('with the scheme consuls uses TLS and another port, and names the files of certificates', () =>
    withCertificateFile(async (ca) => {
      const url = `consuls://one?ca=${ca}&servername=consul.internal`;
      expect(await readOptions(url)).toMatchObject({ endpoint: { port: 8501 } });
      await expect(readOptions(`consuls://one?ca=${ca}.none`)).rejects.toMatchObject({ code: 'ENOENT' });
    }));

  refusesUrls(openConsul, [
    ['another scheme', 'http://one:8500'],
    ['no host', 'consul://'],
    ['two hosts', 'consul://one,two'],
    ['a port out of range', 'consul://one:70000'],
    ['a token in the place of a user', 'consul://secret@one'],
    ['an empty token', 'consul://:@one'],
    ['a bad percent', 'consul://:%zz@one'],
    ['a namespace with a bad character', 'consul://one/a%20b'],
    ['an unknown parameter', 'consul://one?timeout=5'],
    ['TLS parameters without TLS', 'consul://one?ca=x'],
    ['a time that is not a number', 'consul://one?connectTimeoutMs=soon'],
    ['an unknown kind of session', 'consul://:secret@one?session=lock'],
    ['a lock delay above Consul’s limit', 'consul://one?lockDelayMs=60001'],
    ['an invalid datacenter', 'consul://one?dc=a%20b'],
    ['too many queries', 'consul://one?maxBlockingQueries=65'],
  ]);
});

refusesOptions(readOptions, [
  ['no agent', {}],
  ['a scheme', { endpoint: 'http://one' }],
  ['an unknown option', { endpoint: 'one', retries: 3 }],
  ['a time out of range', { endpoint: 'one', connectTimeoutMs: 50 }],
  ['a token that no header can carry', { endpoint: 'one', token: 'a\nb' }],
  ['a certificate without its key', { endpoint: 'one', tls: { cert: 'x' } }],
  ['a connect that is not a function', { endpoint: 'one', connect: 'tcp' }],
]);
