import { refusesOptions, refusesUrls, THREE_SERVERS, threeServers, withCertificateFile } from '@incumbent/test-support/options-suite';
import { describe, expect, it } from 'vitest';

import { openZookeeper } from '@incumbent/zookeeper';

import { readOptions } from '../src/options.ts';
import { CREATOR_ONLY, OPEN } from '../src/protocol/nodes.ts';

describe('a URL', () => {
  it('has the servers, the user, the namespace, the time and the permissions', () => {
    expect(readOptions(`zookeeper://alice:s%40crt%3A@${THREE_SERVERS}/team/app?connectTimeoutMs=700&acl=open`)).toMatchObject({
      endpoints: threeServers(2181),
      auths: [{ scheme: 'digest', auth: 'alice:s@crt:' }],
      acls: OPEN,
      namespace: 'team/app',
      connectTimeoutMs: 700,
    });
  });

  it('has defaults for all but the host; with credentials, only they may use the nodes', () => {
    for (const url of ['zookeeper://one', 'zookeeper://one/', 'zookeeper://one?'])
      expect(readOptions(url)).toMatchObject({ namespace: 'incumbent', connectTimeoutMs: 5_000, auths: [], acls: OPEN });
    expect(readOptions('zookeeper://alice:secret@one')).toMatchObject({ acls: CREATOR_ONLY });
  });

  it('uses TLS with zookeepers, and reads certificates from files', () =>
    withCertificateFile((ca) => {
      readOptions(`zookeepers://one?ca=${ca}&servername=zookeeper.internal`);
      expect(() => readOptions(`zookeepers://one?ca=${ca}.none`)).toThrow('cannot be read: ENOENT');
    }));

  refusesUrls(openZookeeper, 'zookeeper', [
    ['a user without a password', 'zookeeper://secret@one'],
    ['an unknown kind of permission', 'zookeeper://alice:secret@one?acl=none'],
    ['permissions without credentials', 'zookeeper://one?acl=creator'],
  ]);
});

refusesOptions(openZookeeper, { endpoints: ['one'] }, [
  ['no servers', { endpoints: [] }],
  ['the same server twice', { endpoints: ['one', 'one:2181'] }],
  ['a colon in a user', { endpoints: ['one'], credentials: { username: 'a:b', password: 'c' } }],
]);
