import { refusesOptions, refusesUrls, THREE_SERVERS, threeServers, withCertificateFile } from '@incumbent/test-support/options-suite';
import { describe, expect, it } from 'vitest';

import { openRedis } from '@incumbent/redis';

import { readOptions, readUrl } from '../src/options.ts';

describe('a URL', () => {
  it('names servers, user, namespace, database and time', () => {
    expect(readOptions(`redis://alice:s%40crt%3A@${THREE_SERVERS}/team/app?connectTimeoutMs=700&db=4`)).toMatchObject({
      endpoints: threeServers(6379),
      credentials: { username: 'alice', password: 's@crt:' },
      namespace: 'team/app',
      connectTimeoutMs: 700,
      db: 4,
    });
  });

  it('has defaults for everything except the host', () => {
    for (const url of ['redis://one', 'valkey://one/', 'redis://one?'])
      expect(readOptions(url)).toMatchObject({ namespace: 'incumbent', connectTimeoutMs: 5_000, db: 0, credentials: undefined });
  });

  it.each(['redis://one/0', 'valkey://one/15?db=1'])(
    'with a number for a namespace is refused, as other clients read a database there: %s',
    (url) => {
      expect(() => readOptions(url)).toThrow(
        expect.objectContaining({
          code: 'INVALID_OPTION',
          message: expect.stringContaining('redis://host/my-app?db=0'),
        }),
      );
    },
  );

  it('may be an object, and have a scheme in capitals', () => {
    for (const url of ['REDIS://:secret@one:1/app', new URL('redis://:secret@one:1/app')])
      expect(readOptions(url)).toMatchObject({
        endpoints: [{ host: 'one', port: 1 }],
        namespace: 'app',
        credentials: { password: 'secret' },
      });
  });

  it('may have a password alone', () => {
    expect(readOptions('redis://:secret@one').credentials).toEqual({ password: 'secret' });
  });

  it('with an s in the scheme means TLS, and reads certificates from files', () =>
    withCertificateFile((ca) => {
      for (const scheme of ['rediss', 'valkeys'])
        expect(readUrl(`${scheme}://one?ca=${ca}&servername=redis.internal`).tls).toMatchObject({ servername: 'redis.internal' });
      for (const scheme of ['redis', 'valkey']) expect(readUrl(`${scheme}://one`)).not.toHaveProperty('tls');
      expect(() => readOptions(`rediss://one?ca=${ca}.none`)).toThrow('cannot be read: ENOENT');
    }));

  refusesUrls(openRedis, 'redis', [
    ['a user without a password', 'redis://secret@one'],
    ['a database that is none', 'redis://alice:secret@one?db=first'],
    ['a database out of range', 'redis://alice:secret@one?db=70000'],
  ]);
});

describe('a URL of Sentinels', () => {
  it('names the Sentinels, the primary, the user of the servers and the user of the Sentinels', () => {
    const url = `redis+sentinel://alice:s%40crt@${THREE_SERVERS}/team/app?master=mymaster&sentinelUsername=bob&sentinelPassword=p%2Bw&db=2`;
    expect(readUrl(url)).toEqual({
      sentinel: { endpoints: THREE_SERVERS.split(','), master: 'mymaster', credentials: { username: 'bob', password: 'p+w' } },
      namespace: 'team/app',
      credentials: { username: 'alice', password: 's@crt' },
      db: 2,
    });
    expect(readOptions(url)).toMatchObject({ endpoints: [], sentinel: { endpoints: threeServers(26_379), master: 'mymaster' } });
  });

  it('with an s in the scheme means TLS for servers and Sentinels, unless sentinelTls=false', () =>
    withCertificateFile((ca) => {
      const url = `rediss+sentinel://one?master=m&ca=${ca}&servername=redis.internal`;
      const both = readUrl(url);
      expect(both.tls).toMatchObject({ servername: 'redis.internal' });
      expect(both.sentinel?.tls).toEqual({ ca: both.tls?.ca });
      const servers = readUrl(`${url}&sentinelTls=false`);
      expect(servers.tls).toEqual(both.tls);
      expect(servers.sentinel).not.toHaveProperty('tls');
    }));

  refusesUrls(openRedis, 'redis+sentinel', [
    ['no primary', 'redis+sentinel://one'],
    ['a primary with a bad character', 'redis+sentinel://one?master=a%20b'],
    ['a user of the Sentinels without a password', 'redis+sentinel://one?master=m&sentinelUsername=secret'],
    ['TLS for the Sentinels alone', 'redis+sentinel://one?master=m&sentinelTls=true'],
    ['a word for sentinelTls that is none', 'rediss+sentinel://one?master=m&sentinelTls=maybe'],
  ]);
});

describe('options with Sentinels', () => {
  it('reach another process of this machine, with bytes of certificates as text', () => {
    const ca = new TextEncoder().encode('PEM');
    const { access } = readOptions({ sentinel: { endpoints: ['one'], master: 'm', tls: { ca } } });
    expect(JSON.parse(access ?? '')).toEqual({ sentinel: { endpoints: ['one'], master: 'm', tls: { ca: 'PEM' } } });
  });
});

const SENTINEL = { endpoints: ['one'], master: 'mymaster' };

refusesOptions(openRedis, { sentinel: SENTINEL }, [
  ['servers and Sentinels', { sentinel: SENTINEL, endpoints: ['one'] }],
  ['no Sentinel', { sentinel: { ...SENTINEL, endpoints: [] } }],
  ['no primary', { sentinel: { endpoints: ['one'] } }],
  ['a Sentinel that is none', { sentinel: 'one' }],
  ['an unknown option of Sentinels', { sentinel: { ...SENTINEL, name: 'mymaster' } }],
  ['TLS of Sentinels beside connect', { sentinel: { ...SENTINEL, tls: {} }, connect: () => {} }],
  ['a certificate of Sentinels without its key', { sentinel: { ...SENTINEL, tls: { cert: 'x' } } }],
  ['no password of the Sentinels', { sentinel: { ...SENTINEL, credentials: { username: 'a' } } }],
]);

refusesOptions(openRedis, { endpoints: ['one'] }, [
  ['no servers', { endpoints: [] }],
  ['the same server twice', { endpoints: ['one', 'one:6379'] }],
  ['half a database', { endpoints: ['one'], db: 0.5 }],
  ['an empty user', { endpoints: ['one'], credentials: { username: '', password: 'c' } }],
  ['no password', { endpoints: ['one'], credentials: { username: 'a' } }],
]);
