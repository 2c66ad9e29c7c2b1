import { refusesOptions, refusesUrls, withCertificateFile } from '@incumbent/test-support/options-suite';
import { Pool } from 'pg';
import { describe, expect, it } from 'vitest';

import { openPostgres } from '@incumbent/postgres';

import { readOptions, readUrl } from '../src/options.ts';

describe('a URL', () => {
  it('names servers, user, database, schema, namespace and time', () => {
    const url =
      'postgres://alice:s%40crt%3A@one:1,[::1]:2,three/app?schema=locks&namespace=team/app&connectTimeoutMs=700&migrate=false&trustDurability=true';
    expect(readOptions(url)).toMatchObject({
      servers: {
        endpoints: [
          { host: 'one', port: 1 },
          { host: '::1', port: 2 },
          { host: 'three', port: 5432 },
        ],
        credentials: { username: 'alice', password: 's@crt:' },
        database: 'app',
      },
      schema: 'locks',
      namespace: 'team/app',
      connectTimeoutMs: 700,
      migrate: false,
      trustDurability: true,
    });
  });

  it('has defaults for all but the user and the host', () => {
    for (const url of ['postgres://bob@one', 'postgresql://bob@one/', 'POSTGRES://bob@one?sslmode=disable', new URL('postgres://bob@one')])
      expect(readOptions(url)).toMatchObject({
        servers: { credentials: { username: 'bob' }, database: 'bob', tls: undefined },
        schema: 'incumbent',
        namespace: 'incumbent',
        connectTimeoutMs: 5_000,
        migrate: true,
        trustDurability: false,
      });
  });

  it('turns TLS on by sslmode, and reads certificates from files', () =>
    withCertificateFile((ca) => {
      for (const mode of ['require', 'verify-full'])
        expect(readUrl(`postgres://bob@one?sslmode=${mode}&ca=${ca}&servername=db.internal`).tls).toMatchObject({
          servername: 'db.internal',
        });
      expect(() => readOptions(`postgres://bob@one?sslmode=require&ca=${ca}.none`)).toThrow('cannot be read: ENOENT');
    }));

  it('names the parameter for the certificate of the authority, in place of that of libpq', () => {
    const url = 'postgres://bob@one?sslmode=verify-full&sslrootcert=root.pem';
    expect(() => readUrl(url)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining('?ca=file') }));
  });

  refusesUrls(openPostgres, 'postgres', [
    ['no user', 'postgres://one/app'],
    ['a password alone', 'postgres://:secret@one/app'],
    ['no host', 'postgres://bob:secret@/app'],
    ['an unknown parameter', 'postgres://bob:secret@one/app?foo=1'],
    ['a mode of TLS that checks no certificate', 'postgres://bob:secret@one/app?sslmode=prefer'],
    ['certificates without TLS', 'postgres://bob:secret@one/app?ca=file'],
    ['a schema that needs quotes', 'postgres://bob:secret@one/app?schema=My%20Schema'],
    ['a switch that is no boolean', 'postgres://bob:secret@one/app?migrate=yes'],
    ['a password that is not encoded', 'postgres://bob:sec/ret@one/app'],
  ]);
});

describe('options', () => {
  const good = { endpoints: ['one'], credentials: { username: 'bob' } };

  it('may have no password, and another database', () => {
    expect(readOptions({ ...good, database: 'my app' })).toMatchObject({
      servers: { database: 'my app', credentials: { username: 'bob' } },
    });
  });

  it('may have TLS beside connect, because the store asks for TLS on the stream that is open', () => {
    const connect = (): never => expect.unreachable('nobody connects');
    const settings = readOptions({ ...good, tls: { ca: 'pem' }, connect });
    expect(settings).toMatchObject({ connect, servers: { tls: { ca: 'pem' } }, access: undefined });
  });

  it('for another process contain everything, the certificates too', () => {
    const settings = readOptions({ ...good, credentials: { username: 'bob', password: 'x' }, schema: 'locks', tls: { ca: 'pem' } });
    expect(JSON.parse(settings.access ?? '')).toEqual({
      ...good,
      credentials: { username: 'bob', password: 'x' },
      schema: 'locks',
      tls: { ca: 'pem' },
    });
  });

  it('with a pool leave the servers and the user to the pool, and have nothing for another process', () => {
    const pool = new Pool({ host: 'one', user: 'bob', password: 'secret' });
    const settings = readOptions({ pool, namespace: 'team/app', migrate: false });
    expect(settings).toMatchObject({ servers: { pool }, namespace: 'team/app', migrate: false, schema: 'incumbent', access: undefined });
  });

  refusesOptions(openPostgres, { pool: new Pool() }, [
    ['a pool and servers', { pool: new Pool(), ...good }],
    ['a pool and TLS', { pool: new Pool(), tls: {} }],
    ['a pool that has no connections to give', { pool: { query: () => {} } }],
    ['a pool of two connections', { pool: new Pool({ max: 2 }) }],
    ['nothing as a pool', { pool: undefined }],
  ]);

  refusesOptions(openPostgres, good, [
    ['no servers', { ...good, endpoints: [] }],
    ['no user', { endpoints: ['one'] }],
    ['an empty user', { ...good, credentials: { username: '' } }],
    ['a password that is no text', { ...good, credentials: { username: 'bob', password: 1 } }],
    ['an empty database', { ...good, database: '' }],
    ['a schema of PostgreSQL', { ...good, schema: 'pg_catalog' }],
    ['a schema that is too long', { ...good, schema: 'x'.repeat(41) }],
    ['a namespace that is no path', { ...good, namespace: '/a' }],
    ['a switch that is no boolean', { ...good, trustDurability: 'yes' }],
    ['TLS that is no object', { ...good, tls: true }],
  ]);
});
