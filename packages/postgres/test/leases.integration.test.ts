/** Leases on a real server: what ends them, and which keys end with them. */

import type { Store } from '@incumbent/core';
import { startPostgres, uniqueNamespace, until } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';

import { openPostgres } from '../src/index.ts';

const CALL = { timeoutMs: 10_000 };
const GRANT = { ...CALL, at: { monotonicMs: 0, wallMs: 0 } };
const VALUE = new Uint8Array([1]);
const LEADER = 'elections/x/leader';
const QUEUE = 'elections/x/candidates';

interface Scene extends AsyncDisposable {
  readonly store: Store;
  readonly namespace: string;
  /** Two sessions of an operator. */
  readonly one: Client;
  readonly two: Client;
}

await describeOnServer('leases', { store: 'postgres', start: () => startPostgres() }, (server) => {
  async function scene(): Promise<Scene> {
    const [{ url }, namespace] = [server(), uniqueNamespace()];
    const store = await openPostgres(`${url}?namespace=${namespace}&connectTimeoutMs=30000`);
    const [one, two] = [new Client(url), new Client(url)];
    await Promise.all([one.connect(), two.connect()]);
    return {
      store,
      namespace,
      one,
      two,
      [Symbol.asyncDispose]: async () => {
        await Promise.all([one.end(), two.end(), store.close()]);
      },
    };
  }

  /** Waits until this many sessions of the server wait for a lock. */
  async function untilBlocked({ one }: Scene, sessions: number): Promise<void> {
    const waiting = `SELECT count(*)::integer AS waiting FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;
    await until(async () => (await one.query<{ waiting: number }>(waiting)).rows[0]?.waiting === sessions, {
      what: `${sessions} sessions that wait for a lock`,
    });
  }

  /** The statement of a claim that puts the leader's record under the lease. */
  function claim({ namespace }: Scene, lease: string): string {
    return `SELECT kind FROM incumbent.swap('${namespace}', 10000, ARRAY['${LEADER}'], ARRAY[NULL]::bigint[], ARRAY['p'],
      ARRAY['v'::bytea], ARRAY['l${lease}'])`;
  }

  describe('a lease that an operator deletes', () => {
    it('takes the key with it that a claim binds to it at the same time', async () => {
      await using opened = await scene();
      const { store, one, two } = opened;
      const { id: lease } = await store.grantLease(600_000, GRANT);
      await store.enqueue(QUEUE, 'm', VALUE, lease, CALL);
      await one.query(`BEGIN; ${claim(opened, lease)}`);
      const deleted = two.query('DELETE FROM incumbent.leases WHERE id = $1', [lease]);
      await untilBlocked(opened, 1);
      await one.query('COMMIT');
      await deleted;
      const { rows } = await one.query('SELECT key FROM incumbent.keys WHERE lease = $1', [lease]);
      expect(rows).toEqual([]);
    });

    it.each([true, false])('accepts no claim that comes before the commit, while the lease has a key (%s)', async (hasKey) => {
      await using opened = await scene();
      const { store, one, two } = opened;
      const { id: lease } = await store.grantLease(600_000, GRANT);
      if (hasKey) await store.enqueue(QUEUE, 'm', VALUE, lease, CALL);
      await one.query(`BEGIN; DELETE FROM incumbent.leases WHERE id = '${lease}'`);
      const claimed = two.query(claim(opened, lease));
      await untilBlocked(opened, 1);
      await one.query('COMMIT');
      expect((await claimed).rows).toEqual([{ kind: 'lease' }]);
      expect(await store.read(LEADER, CALL)).toBeUndefined();
    });
  });
});
