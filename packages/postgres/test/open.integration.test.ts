/** Opening on a real server: the schema, rights, and what the server guarantees. */

import { Member } from '@incumbent/core';
import { startPostgres, uniqueNamespace, type PostgresServer } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';

import { openPostgres, type PostgresOptions, schemaSql, sqlGuard } from '../src/index.ts';
import { grantSql } from '../src/schema/schema.ts';

const CALL = { timeoutMs: 10_000 };

function optionsOf({ url }: Pick<PostgresServer, 'url'>, options: Partial<PostgresOptions> = {}): PostgresOptions {
  const { host, username, pathname } = new URL(url);
  const given = { endpoints: [host], credentials: { username }, database: pathname.slice(1), connectTimeoutMs: 30_000 };
  return { ...given, namespace: uniqueNamespace(), ...options };
}

async function asSuperuser(server: Pick<PostgresServer, 'url'>, ...statements: readonly string[]): Promise<void> {
  const client = new Client(server.url);
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

await describeOnServer('opening', { store: 'postgres', start: () => startPostgres() }, (server) => {
  it('creates the schema once, however many processes open at once', async () => {
    const schema = 'many_at_once';
    const stores = await Promise.all(Array.from({ length: 20 }, () => openPostgres(optionsOf(server(), { schema }))));
    await Promise.all(stores.map((store) => store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array() }], CALL)));
    await Promise.all(stores.map((store) => store.close()));
  });

  it('without the right to create the schema names the command that prints it', async () => {
    await asSuperuser(server(), 'CREATE ROLE no_rights LOGIN');
    const credentials = { username: 'no_rights' };
    await expect(openPostgres(optionsOf(server(), { credentials, schema: 'no_schema' }))).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      outcome: 'refused',
      message: expect.stringContaining('incumbent postgres schema --schema no_schema'),
    });
    await expect(openPostgres(optionsOf(server(), { schema: 'no_schema', migrate: false }))).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('incumbent postgres schema --schema no_schema'),
    });
  });

  it('as a role with the least rights works after the printed statement, which may run twice', async () => {
    const schema = 'prepared';
    await asSuperuser(server(), 'CREATE ROLE least LOGIN', schemaSql(schema), schemaSql(schema));
    const options = optionsOf(server(), { credentials: { username: 'least' }, schema });
    await expect(openPostgres(options)).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { grant: expect.stringContaining('GRANT USAGE ON SCHEMA "prepared" TO "least"') },
    });
    await asSuperuser(server(), grantSql(schema, 'least'));
    await using store = await openPostgres(options);
    const lease = await store.grantLease(5_000, { ...CALL, at: { monotonicMs: 0, wallMs: 0 } });
    await store.enqueue('queue', 'a', new Uint8Array([1]), lease.id, CALL);
    await store.renewLease(lease.id, { ...CALL, at: { monotonicMs: 0, wallMs: 0 } });
    for await (const entries of store.watchList('queue', { signal: AbortSignal.timeout(30_000) })) {
      if (entries.length === 0) break;
      await store.revokeLease(lease.id, CALL);
    }
  });

  it('takes a schema of which a part was dropped, after the printed statement', async () => {
    const schema = 'damaged';
    await asSuperuser(server(), schemaSql(schema), `DROP TABLE ${schema}.keys`, `DROP FUNCTION ${schema}.count_change CASCADE`);
    await asSuperuser(server(), schemaSql(schema));
    await using store = await openPostgres(optionsOf(server(), { schema }));
    expect(await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array() }], CALL)).toMatchObject({ swapped: true });
    expect(await store.read('a', CALL)).toMatchObject({ key: 'a' });
  });

  it('without the right to connect names the statement that grants it', async () => {
    await asSuperuser(server(), 'CREATE DATABASE closed', 'REVOKE CONNECT ON DATABASE closed FROM PUBLIC', 'CREATE ROLE outsider LOGIN');
    const options = optionsOf(server(), { credentials: { username: 'outsider' }, database: 'closed' });
    const grant = 'GRANT CONNECT ON DATABASE "closed" TO "outsider"';
    await expect(openPostgres(options)).rejects.toMatchObject({ code: 'PERMISSION_DENIED', details: { grant } });
    await asSuperuser(server(), grant);
    await expect(openPostgres(options)).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining('this role may not create it'),
    });
  });

  it('without the right to execute functions names the statements that grant it', async () => {
    await asSuperuser(server(), 'CREATE DATABASE hardened', 'CREATE ROLE limited LOGIN');
    const hardened = { url: new URL('/hardened', server().url).href };
    await asSuperuser(hardened, 'ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC', schemaSql());
    const options = optionsOf(hardened, { credentials: { username: 'limited' } });
    const grant = grantSql(undefined, 'limited');
    await expect(openPostgres(options)).rejects.toMatchObject({ code: 'PERMISSION_DENIED', details: { grant } });
    await asSuperuser(hardened, grant);
    await using store = await openPostgres(options);
    await using member = new Member(store, { memberId: 'a' });
    await member.election('x').campaign();
  });

  it('shows its namespace, by which metrics tell two stores of one database apart', async () => {
    await using store = await openPostgres(optionsOf(server(), { namespace: 'shop/a' }));
    expect(store.namespace).toBe('shop/a');
  });

  it('takes a word of SQL as the name of the schema', async () => {
    const schema = 'user';
    await asSuperuser(server(), 'CREATE ROLE reserved LOGIN', schemaSql(schema), grantSql(schema, 'reserved'));
    await using store = await openPostgres(optionsOf(server(), { credentials: { username: 'reserved' }, schema }));
    await using member = new Member(store, { memberId: 'a' });
    const leadership = await member.election('x').campaign();
    const { text, values, literal } = sqlGuard(store, leadership);
    const client = new Client(server().url);
    await client.connect();
    try {
      for (const statement of [{ text, values }, literal]) await client.query(statement);
    } finally {
      await client.end();
    }
    expect(await store.inspect?.(CALL)).toMatchObject({ warnings: expect.any(Array) });
  });

  it('of a schema of a newer version is refused, also after the statement of an older package', async () => {
    const schema = 'newer';
    await asSuperuser(
      server(),
      schemaSql(schema),
      `CREATE OR REPLACE FUNCTION ${schema}.version() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '99'::text $$`,
      schemaSql(schema),
    );
    await expect(openPostgres(optionsOf(server(), { schema }))).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('update the package'),
    });
  });

  it('of a database or a user that does not exist is refused', async () => {
    await expect(openPostgres(optionsOf(server(), { database: 'none' }))).rejects.toMatchObject({ code: 'UNSUPPORTED' });
    await expect(openPostgres(optionsOf(server(), { credentials: { username: 'nobody' } }))).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    });
  });
});

describe('a server without fsync', async () => {
  await describeOnServer('is weak', { store: 'postgres', start: () => startPostgres({ settings: { fsync: 'off' } }) }, (server) => {
    it('unless the operator vouches for it', async () => {
      await using weak = await openPostgres(optionsOf(server()));
      expect(weak.capabilities).toMatchObject({ linearizable: false, termSource: 'clock' });
      await using member = new Member(weak, { memberId: 'a' });
      expect(() => member.election('x')).toThrow(
        'the store "postgres" is not linearizable: fsync is off, so a crash of the server may lose what it acknowledged. Two members',
      );
      expect(await weak.inspect?.(CALL)).toMatchObject({
        warnings: [expect.stringContaining('fsync is off')],
        facts: expect.arrayContaining([expect.objectContaining({ what: 'durability', isWeak: true })]),
      });
      await using trusted = await openPostgres(optionsOf(server(), { trustDurability: true }));
      expect(trusted.capabilities).toMatchObject({ linearizable: true, termSource: 'counter' });
    });
  });
});

await describeOnServer(
  'a server with passwords and TLS',
  { store: 'postgres', start: () => startPostgres({ auth: { user: 'alice', password: 'p@ss:word' }, tls: 'mutual' }) },
  (server) => {
    it('takes the right password by TLS, and nothing else', async () => {
      const { tls } = server();
      if (tls === undefined) throw new Error('the server has no certificates');
      const certificates = { ca: { file: tls.ca }, cert: { file: tls.client.cert }, key: { file: tls.client.key } };
      const credentials = { username: 'alice', password: 'p@ss:word' };
      const options = optionsOf(server(), { credentials, tls: certificates });
      await using store = await openPostgres(options);
      expect(await store.read('a', CALL)).toBeUndefined();
      await expect(openPostgres({ ...options, credentials: { username: 'alice', password: 'wrong' } })).rejects.toMatchObject({
        code: 'UNAUTHENTICATED',
        outcome: 'refused',
      });
      await expect(openPostgres({ ...options, credentials: { username: 'alice' } })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
      await expect(openPostgres({ ...options, tls: {} })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
      await expect(openPostgres(optionsOf(server(), { credentials }))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    });
  },
);
