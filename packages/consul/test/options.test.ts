import { refusesOptions, refusesUrls, withCertificateFile } from '@incumbent/test-support/options-suite';
import { openConsul } from '@incumbent/consul';
import { describe, expect, it } from 'vitest';

import { readOptions } from '../src/options.ts';

describe('a URL', () => {
  it('names the agent, token, namespace, datacenter, and how sessions and watches are made', () => {
    const url =
      'consul://:s%40crt@[::1]:1/team/app?dc=dc1&ns=ours&session=ttl&lockDelayMs=5&connectTimeoutMs=700&watchWaitMs=2000&maxBlockingQueries=8&minSessionTtlMs=1000';
    expect(readOptions(url)).toMatchObject({
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

  it('needs only a host', () => {
    for (const url of ['consul://one', 'consul://one/', 'consul://one?'])
      expect(readOptions(url)).toMatchObject({
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
    withCertificateFile((ca) => {
      const url = `consuls://one?ca=${ca}&servername=consul.internal`;
      expect(readOptions(url)).toMatchObject({ endpoint: { port: 8501 } });
      expect(() => readOptions(`consuls://one?ca=${ca}.none`)).toThrow('cannot be read: ENOENT');
    }));

  refusesUrls(openConsul, 'consul', [
    ['a user without a password', 'consul://secret@one'],
    ['an empty token', 'consul://:@one'],
    ['an unknown kind of session', 'consul://:secret@one?session=lock'],
    ['a lock delay above Consul’s limit', 'consul://one?lockDelayMs=60001'],
    ['an invalid datacenter', 'consul://one?dc=a%20b'],
    ['too many queries', 'consul://one?maxBlockingQueries=65'],
  ]);
});

refusesOptions(openConsul, { endpoint: 'one' }, [
  ['a scheme', { endpoint: 'http://one' }],
  ['a token that no header can carry', { endpoint: 'one', token: 'a\nb' }],
]);
