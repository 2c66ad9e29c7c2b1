/**
 * A row with a holder and a time of expiry in PostgreSQL, as services write it themselves: one
 * statement takes the lease, renews it every third of the ttl, and tries every second to take the
 * lease of somebody else.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseError, Pool } from 'pg';
import { speak, start, type Contestant } from './speak.ts';

const EVERY_MS = 1_000;
const TABLE = 'CREATE TABLE IF NOT EXISTS bench_lease (name text PRIMARY KEY, holder text NOT NULL, expires timestamptz NOT NULL)';
const TAKE = `INSERT INTO bench_lease AS lease VALUES ($1, $2, now() + $3 * interval '1 ms')
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires = excluded.expires
  WHERE lease.expires < now() OR lease.holder = excluded.holder`;
const RELEASE = 'DELETE FROM bench_lease WHERE name = $1 AND holder = $2';
/** Two sessions that create a table at the same time get this error. */
const EXISTS = '23505';

const { url, namespace, ttlMs } = start();
const pool = new Pool({ connectionString: url });
pool.on('error', () => {});
await pool.query(TABLE).catch((error: unknown) => {
  if (!(error instanceof DatabaseError) || error.code !== EXISTS) throw error;
});

async function take(name: string, holder: string): Promise<boolean> {
  return (await pool.query(TAKE, [name, holder, ttlMs])).rowCount === 1;
}

const contestant: Contestant = {
  async campaign(election, as, lost) {
    const name = `${namespace}/${election}`;
    const holder = `${process.pid}/${as}`;
    while (!(await take(name, holder))) await sleep(EVERY_MS);
    let isLeader = true;
    const end = (reason: string): void => {
      if (isLeader) lost(reason);
      isLeader = false;
      clearInterval(renewal);
    };
    const renew = async (): Promise<void> => {
      if (!(await take(name, holder))) end('somebody else has the lease');
    };
    const renewal = setInterval(() => void renew().catch((error: unknown) => end(String(error))), ttlMs / 3);
    return {
      isLeader: () => isLeader,
      resign: async () => {
        isLeader = false;
        clearInterval(renewal);
        await pool.query(RELEASE, [name, holder]);
      },
    };
  },
};

await speak(contestant);
