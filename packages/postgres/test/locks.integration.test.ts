/** Calls and changes of the schema while somebody else holds locks of its tables. */

import type { Store } from '@incumbent/core';
import { startPostgres, uniqueNamespace, until } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';

import { openPostgres } from '../src/index.ts';

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

await describeOnServer('a locked table', { store: 'postgres', start: () => startPostgres() }, (server) => {
  const open = (schema: string): Promise<Store> =>
    openPostgres(`${server().url}?schema=${schema}&namespace=${uniqueNamespace()}&connectTimeoutMs=30000`);

  describe.each(['namespaces', 'keys'])('%s', (table) => {
    it('leaves no server process behind after reads that timed out', async () => {
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
});
