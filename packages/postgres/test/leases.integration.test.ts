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
  /** The process of the server that serves `two`. */
  readonly secondPid: number | undefined;
}

await describeOnServer('leases', { store: 'postgres', start: () => startPostgres() }, (server) => {
  async function scene(): Promise<Scene> {
    const [{ url }, namespace] = [server(), uniqueNamespace()];
    const store = await openPostgres(`${url}?namespace=${namespace}&connectTimeoutMs=30000`);
    const [one, two] = [new Client(url), new Client(url)];
    await Promise.all([one.connect(), two.connect()]);
    const { rows } = await two.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return {
      store,
      namespace,
      one,
      two,
      secondPid: rows[0]?.pid,
      [Symbol.asyncDispose]: async () => {
        await Promise.all([one.end(), two.end(), store.close()]);
      },
    };
  }

  /**
   * Waits until the second session waits for a lock. Reads `pg_locks`, because a transaction sees
   * one snapshot of `pg_stat_activity`.
   */
  async function untilBlocked({ one, secondPid }: Scene): Promise<void> {
    const waiting = 'SELECT FROM pg_locks WHERE NOT granted AND pid = $1';
    await until(async () => (await one.query(waiting, [secondPid])).rows.length > 0, { what: 'the second session waits for a lock' });
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
      await untilBlocked(opened);
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
      await untilBlocked(opened);
      await one.query('COMMIT');
      expect((await claimed).rows).toEqual([{ kind: 'lease' }]);
      expect(await store.read(LEADER, CALL)).toBeUndefined();
    });
  });

  describe('a clock that is set back by a minute', () => {
    const TTL_MS = 2_000;

    /** Sets the clock back, as the leases see it: they now end a minute later. */
    async function setBack({ one, namespace }: Scene): Promise<void> {
      await one.query(`BEGIN;
        UPDATE incumbent.leases l SET ends_at = ends_at + interval '60 s' FROM incumbent.namespaces n
          WHERE n.id = l.namespace AND n.name = '${namespace}';
        UPDATE incumbent.namespaces SET next_end = next_end + interval '60 s' WHERE name = '${namespace}';
        COMMIT`);
    }

    /** Resolves when the key has gone, as a watch shows it, and then as a read shows it. */
    async function untilGone(store: Store, key: string): Promise<void> {
      const watch = store.watch(key, { signal: AbortSignal.timeout(15_000) });
      for await (const entry of watch) {
        if (entry !== undefined) continue;
        expect(await store.read(key, CALL)).toBeUndefined();
        return;
      }
      expect.unreachable(`${key} is still there`);
    }

    it('ends a lease that was renewed afterwards by its ttl', async () => {
      await using opened = await scene();
      const { store } = opened;
      const { id: lease } = await store.grantLease(TTL_MS, GRANT);
      const { key } = await store.enqueue(QUEUE, 'm', VALUE, lease, CALL);
      await setBack(opened);
      await store.renewLease(lease, GRANT);
      await untilGone(store, key);
    });

    it.each(['renewed', 'granted'])('ends the lease of a dead member after another lease was %s', async (how) => {
      await using opened = await scene();
      const { store } = opened;
      const { id: dead } = await store.grantLease(TTL_MS, GRANT);
      const { key } = await store.enqueue(QUEUE, 'm', VALUE, dead, CALL);
      const { id: alive } = await store.grantLease(TTL_MS, GRANT);
      await setBack(opened);
      if (how === 'renewed') await store.renewLease(alive, GRANT);
      else await store.grantLease(TTL_MS, GRANT);
      await untilGone(store, key);
    });

    it('ends no lease before its ttl, and renews without a lock of the namespace afterwards', async () => {
      await using opened = await scene();
      const { store, one, namespace } = opened;
      const { id: long } = await store.grantLease(600_000, GRANT);
      const { id: short } = await store.grantLease(60_000, GRANT);
      await setBack(opened);
      await store.renewLease(short, GRANT);
      const leases = `SELECT id, ends_at > clock_timestamp() + (ttl_ms - 30000) * interval '1 ms' AS whole,
        ends_at <= clock_timestamp() + ttl_ms * interval '1 ms' AS possible FROM incumbent.leases WHERE id IN ('${long}', '${short}')`;
      expect((await one.query(leases)).rows).toEqual(
        expect.arrayContaining([long, short].map((id) => ({ id, whole: true, possible: true }))),
      );
      await one.query(`BEGIN; SELECT FROM incumbent.namespaces WHERE name = '${namespace}' FOR UPDATE`);
      for (const lease of [long, short]) await store.renewLease(lease, GRANT);
      await one.query('ROLLBACK');
    });
  });
});
