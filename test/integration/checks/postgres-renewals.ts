/** What a day of renewals leaves in the tables of PostgreSQL. */

import assert from 'node:assert/strict';
import { startPostgres, type PostgresServer } from '@incumbent/test-support';
import { openStore, type Store } from 'incumbent';
import { Client } from 'pg';
import type { Check, Figures } from './check.ts';
import { freshNamespace, storeUrl } from './pair.ts';

const LEASES = 1_000;
const TTL_MS = 15_000;
/** A member renews its lease every third of the ttl. */
const RENEWALS_PER_HOUR = (3_600_000 / TTL_MS) * 3;
const HOURS = 24;
/** The leases of this check live for longer than the check, so that only its length is at speed. */
const KEPT_MS = 86_400_000;
/** The sessions that renew at the same time. */
const SESSIONS = 2;

/** The leases themselves have about 100 kB. */
const MAX_TABLES_KB = 2_048;

/**
 * Every renewal is a transaction of its own, as if a client had sent it. The lower bound of the
 * ends passes three times in a ttl, as it does for watching stores, which then read the tables.
 */
function hourOf(namespace: string, session: number): string {
  return `DO $$
DECLARE
  v_leases text[] := (SELECT array_agg(id ORDER BY id) FROM incumbent.leases
    WHERE namespace = (SELECT id FROM incumbent.namespaces WHERE name = '${namespace}'));
BEGIN
  FOR v_round IN 1 .. ${RENEWALS_PER_HOUR} LOOP
    FOR v_index IN 1 .. cardinality(v_leases) LOOP
      CONTINUE WHEN v_index % ${SESSIONS} <> ${session};
      IF incumbent.renew_lease('${namespace}', ${KEPT_MS}, v_leases[v_index]) IS NULL THEN
        RAISE EXCEPTION 'the lease % has ended', v_leases[v_index];
      END IF;
      COMMIT;
    END LOOP;
    UPDATE incumbent.namespaces SET next_end = clock_timestamp() WHERE name = '${namespace}';
    COMMIT;
    PERFORM incumbent.probe('${namespace}', ${KEPT_MS});
    COMMIT;
  END LOOP;
END $$`;
}

/** The size of all tables and indexes, and what the server counts. */
const SIZES = `SELECT (SELECT sum(pg_total_relation_size(c.oid)) / 1024 FROM pg_class c
    WHERE c.relnamespace = 'incumbent'::regnamespace AND c.relkind = 'r'),
  sum(n_dead_tup), sum(n_tup_upd), sum(n_tup_hot_upd)
  FROM pg_stat_user_tables WHERE schemaname = 'incumbent'`;

interface Sizes {
  readonly kb: number;
  readonly dead: number;
  readonly updates: number;
  readonly inPlace: number;
}

async function sizesOf(server: PostgresServer): Promise<Sizes> {
  const [kb = NaN, dead = NaN, updates = NaN, inPlace = NaN] = (await server.ctl(['-c', SIZES])).trim().split('|').map(Number);
  return { kb, dead, updates, inPlace };
}

async function grantAll(store: Store): Promise<void> {
  for (let count = 0; count < LEASES; count += 1) await store.grantLease(KEPT_MS, { at: { monotonicMs: 0, wallMs: 0 } });
}

/** psql of `ctl` would be ended after a while. */
async function inSession({ url }: PostgresServer, statement: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

async function hour(server: PostgresServer, namespace: string): Promise<Figures> {
  const before = await sizesOf(server);
  const beganAt = performance.now();
  await Promise.all(Array.from({ length: SESSIONS }, (_, session) => inSession(server, hourOf(namespace, session))));
  const minutes = (performance.now() - beganAt) / 60_000;
  // A session reports its counts when it ends.
  const after = await sizesOf(server);
  const updates = after.updates - before.updates;
  assert.ok(updates >= LEASES * RENEWALS_PER_HOUR, `${updates} updates`);
  assert.ok(after.kb <= MAX_TABLES_KB, `the tables have ${after.kb} kB`);
  return {
    renewals: LEASES * RENEWALS_PER_HOUR,
    minutes,
    kb: after.kb,
    dead: after.dead,
    inPlace: (after.inPlace - before.inPlace) / updates,
  };
}

export const postgresRenewals: Check = {
  name: 'postgres-renewals',
  claim: `24 hours of renewals of ${LEASES} leases leave the tables of PostgreSQL below ${MAX_TABLES_KB / 1_024} MB, indexes included.`,
  method:
    `Each run is an hour's worth at a ttl of ${TTL_MS / 1_000} s: every lease is renewed ${RENEWALS_PER_HOUR} times, by the function that the store calls, each time in a transaction of its own, in ${SESSIONS} sessions of one server with ` +
    'default settings, except that it does not flush its log to the disk (fsync = off), which changes no size. All runs are on the same tables. After each round of renewals the lower bound of the ends has passed, as it ' +
    'has when a store that watches asks for it. kb: all tables of the schema with their indexes after the run; dead: row versions that are not removed yet, by the server; inPlace: the part of the updates that changed no index ' +
    '(heap-only); minutes: how long the run took.',
  runs: HOURS,
  parallel: 1,
  open: async () => {
    const server = await startPostgres({ settings: { fsync: 'off' } });
    const namespace = freshNamespace();
    const store = await openStore(`${storeUrl([server.url], namespace, 'postgres')}&trustDurability=true`);
    await grantAll(store);
    await store.close();
    return {
      run: async () => ({ figures: await hour(server, namespace) }),
      [Symbol.asyncDispose]: () => server.stop(),
    };
  },
};
