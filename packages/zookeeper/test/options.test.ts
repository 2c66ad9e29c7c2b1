import { refusesOptions, refusesUrls, withCertificateFile } from '@incumbent/test-support/options-suite';
import { describe, expect, it } from 'vitest';

import { openZookeeper } from '@incumbent/zookeeper';

import { readOptions } from '../src/options.ts';
import { CREATOR_ONLY, OPEN } from '../src/protocol/nodes.ts';

describe('a URL', () => {
  it('has the servers, the user, the namespace, the time and the permissions', async () => {
    expect(await readOptions('zookeeper://alice:s%40crt%3A@one:1,[::1]:2,three/team/app?connectTimeoutMs=700&acl=open')).toMatchObject({
      endpoints: [
        { host: 'one', port: 1 },
        { host: '::1', port: 2 },
        { host: 'three', port: 2181 },
      ],
      auths: [{ scheme: 'digest', auth: 'alice:s@crt:' }],
      acls: OPEN,
      namespace: 'team/app',
      connectTimeoutMs: 700,
    });
  });

  it('has defaults for all but the host; with credentials, only they may use the nodes', async () => {
    for (const url of ['zookeeper://one', 'zookeeper://one/', 'zookeeper://one?'])
      expect(await readOptions(url)).toMatchObject({ namespace: 'incumbent', connectTimeoutMs: 5_000, auths: [], acls: OPEN });
    expect(await readOptions('zookeeper://alice:secret@one')).toMatchObject({ acls: CREATOR_ONLY });
  });

  it('uses TLS with zookeepers, and reads certificates from files', () =>
    withCertificateFile(async (ca) => {
      await readOptions(`zookeepers://one?ca=${ca}&servername=zookeeper.internal`);
      await expect(readOptions(`zookeepers://one?ca=${ca}.none`)).rejects.toMatchObject({ code: 'ENOENT' });
    }));

  refusesUrls(openZookeeper, [
    ['another scheme', 'http://one:2181'],
    ['no host', 'zookeeper://'],
    ['an empty server', 'zookeeper://one,,two'],
    ['a port out of range', 'zookeeper://one:70000'],
    ['a user without a password', 'zookeeper://alice@one'],
    ['a bad percent', 'zookeeper://alice:%zz@one'],
    ['a namespace with a bad character', 'zookeeper://one/a%20b'],
    ['a namespace that ends in a slash', 'zookeeper://one/a/'],
    ['an unknown parameter', 'zookeeper://one?timeout=5'],
    ['TLS parameters without TLS', 'zookeeper://one?ca=x'],
    ['a time that is not a number', 'zookeeper://one?connectTimeoutMs=soon'],
    ['an unknown kind of permission', 'zookeeper://alice:secret@one?acl=none'],
    ['permissions without credentials', 'zookeeper://one?acl=creator'],
  ]);
});

refusesOptions(readOptions, [
  ['no servers', { endpoints: [] }],
  ['the same server twice', { endpoints: ['one', 'one:2181'] }],
  ['an unknown option', { endpoints: ['one'], retries: 3 }],
  ['a time out of range', { endpoints: ['one'], connectTimeoutMs: 50 }],
  ['a colon in a user', { endpoints: ['one'], credentials: { username: 'a:b', password: 'c' } }],
  ['a certificate without its key', { endpoints: ['one'], tls: { cert: 'x' } }],
  ['a connect that is not a function', { endpoints: ['one'], connect: 'tcp' }],
]);
