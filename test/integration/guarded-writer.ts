/**
 * A leader in a process of its own that writes rows in transactions which take some time, for the
 * check of the SQL fence. It is elected by the store and guards its transactions, or it is elected
 * by an advisory lock, as many programs are.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Member } from '@incumbent/core';
import { openPostgres, sqlGuard, type SqlGuard } from '@incumbent/postgres';
import { emit } from '@incumbent/test-support/child';
import { Client } from 'pg';

const [url = '', namespace = '', memberId = 'a', by = 'guard', ttl = '2000', openMs = '400'] = process.argv.slice(2);
const ttlMs = Number(ttl);

await (by === 'guard' ? leadByStore() : leadByAdvisoryLock());

async function leadByStore(): Promise<void> {
  const store = await openPostgres(`${url}?namespace=${namespace}`);
  const member = new Member(store, { memberId, ttlMs });
  await member.election('writer').lead(async (leadership) => {
    emit('elected', { term: leadership.term });
    while (leadership.isValid()) await write(leadership.term, sqlGuard(store, leadership));
  });
}

/** The server ends a session that is idle for longer than the ttl, which releases the lock. */
async function leadByAdvisoryLock(): Promise<void> {
  const session = await connect();
  await session.query(`SET idle_session_timeout = ${ttlMs}`);
  const key = `hashtext('${namespace}')`;
  while (!(await holds(session, `pg_try_advisory_lock(${key})`))) await sleep(50);
  const { rows } = await session.query<{ term: string }>('INSERT INTO elected (namespace) VALUES ($1) RETURNING term', [namespace]);
  const term = BigInt(rows[0]?.term ?? 0);
  emit('elected', { term });
  const kept = setInterval(() => void session.query('SELECT 1').catch(() => clearInterval(kept)), ttlMs / 3);
  for (;;) await write(term);
}

async function holds(session: Client, condition: string): Promise<boolean> {
  return (await session.query<{ met: boolean }>(`SELECT ${condition} AS met`)).rows[0]?.met === true;
}

async function write(term: bigint, guard?: SqlGuard): Promise<void> {
  const client = await connect();
  try {
    await client.query('BEGIN');
    if (guard !== undefined) await client.query(guard);
    await client.query('INSERT INTO written (namespace, term) VALUES ($1, $2)', [namespace, term]);
    emit('open', { term });
    await sleep(Number(openMs));
    await client.query('COMMIT');
    emit('committed', { term });
  } catch (error) {
    emit('refused', { term, error: String(error) });
  } finally {
    client.end().catch(() => {});
  }
}

async function connect(): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}
