/** Calls and changes of the schema while somebody else holds locks of its tables. */

import type { Store } from '@incumbent/core';
import { startPostgres, uniqueNamespace, until } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';

import { openPostgres, schemaSql } from '../src/index.ts';

/** Somebody with psql. */
class Session extends Client {
  static async connect(url: string): Promise<Session> {
    const session = new Session(url);
    await session.connect();
    return session;
  }

  /** The number of server processes that run a statement on this schema and wait for a lock. */
  async waiting(schema: string): Promise<number> {
    const { rows } = await this.query(
      `SELECT FROM pg_stat_activity WHERE application_name = 'incumbent' AND wait_event_type = 'Lock' AND query LIKE $1`,
      [`%${schema}%`],
    );
    return rows.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}

await describeOnServer('locks of tables', { store: 'postgres', start: () => startPostgres() }, (server) => {
  const open = (schema: string): Promise<Store> =>
    openPostgres(`${server().url}?schema=${schema}&namespace=${uniqueNamespace()}&connectTimeoutMs=30000`);

  describe.each(['namespaces', 'keys'])('of all of %s', (table) => {
    it('leave no server process behind after reads that timed out', async () => {
      const schema = `locked_${table}`;
      await using store = await open(schema);
      await using holder = await Session.connect(server().url);
      await using admin = await Session.connect(server().url);
      await holder.query(`BEGIN; LOCK TABLE ${schema}.${table} IN ACCESS EXCLUSIVE MODE`);
      for (let reads = 0; reads < 10; reads += 1)
        await expect(store.read('a', { timeoutMs: 300 })).rejects.toMatchObject({ code: expect.any(String) });
      await until(async () => (await admin.waiting(schema)) === 0, { what: 'no process to wait for the lock' });
      await holder.query('ROLLBACK');
      expect(await store.read('a', { timeoutMs: 10_000 })).toBeUndefined();
    });
  });

  describe('of transactions that read and write, and stay open', () => {
    const CALL = { timeoutMs: 10_000 };

    /** A store, somebody with psql, and two transactions: one that reads, and one that writes. */
    async function scene(schema: string) {
      const store = await open(schema);
      const sessions = await Promise.all([1, 2, 3].map(() => Session.connect(server().url)));
      const [admin, reader, writer] = sessions;
      if (admin === undefined || reader === undefined || writer === undefined) throw new Error('three sessions are needed');
      await reader.query(`BEGIN; SELECT FROM ${schema}.namespaces, ${schema}.leases, ${schema}.keys`);
      await writer.query(`BEGIN; LOCK TABLE ${schema}.namespaces, ${schema}.leases, ${schema}.keys IN ROW EXCLUSIVE MODE`);
      // A statement that waits for one of them fails the test.
      await admin.query("SET statement_timeout = '10s'");
      return {
        store,
        admin,
        [Symbol.asyncDispose]: async () => {
          await Promise.all(sessions.map((session) => session.end()));
          await store.close();
        },
      };
    }

    it('do not delay the printed statement, which delays no call', async () => {
      await using opened = await scene('printed');
      const printing = opened.admin.query(schemaSql('printed'));
      await opened.store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array() }], CALL);
      expect(await opened.store.read('a', CALL)).toMatchObject({ key: 'a' });
      await printing;
    });

    it('do not delay a newer process that brings the schema up to date', async () => {
      await using opened = await scene('upgraded');
      const { store, admin } = opened;
      await admin.query(`CREATE OR REPLACE FUNCTION upgraded.version() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '3'::text $$`);
      const opening = open('upgraded');
      await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array() }], CALL);
      await using newer = await opening;
      const { rows } = await admin.query<{ version: string }>('SELECT upgraded.version()');
      expect(Number(rows[0]?.version)).toBeGreaterThan(3);
      expect(newer.name).toBe(store.name);
    });
  });
});
