/** A leader that writes to a PostgreSQL table, which rejects the writes of former leaders. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Leadership, Member, openStore } from 'incumbent';
import { Pool } from 'pg';

const [storeUrl = 'sqlite:./state.db', databaseUrl = 'postgres://localhost/postgres'] = process.argv.slice(2);

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS fence (resource text PRIMARY KEY, term bigint NOT NULL);
  CREATE TABLE IF NOT EXISTS price (id bigserial PRIMARY KEY, term bigint NOT NULL, writer text NOT NULL, euros numeric NOT NULL)`;

/**
 * Succeeds if no higher term has written, and locks the row until the transaction ends. So no later
 * leader can write between this check and the writes that it protects.
 */
const ADMIT = `
  INSERT INTO fence (resource, term) VALUES ('price', $1)
  ON CONFLICT (resource) DO UPDATE SET term = excluded.term WHERE fence.term <= excluded.term`;

const database = new Pool({ connectionString: databaseUrl });
// Processes that start at the same time must not create the same table at once.
await inTransaction(async (query) => {
  await query("SELECT pg_advisory_xact_lock(hashtext('price'))");
  await query(SCHEMA);
});

const store = await openStore(storeUrl);
const member = new Member(store, { ttlMs: 3_000 });
member.shutdownOn('SIGTERM', 'SIGINT');

await member.election('price').lead(async (leadership) => {
  while (leadership.isValid()) {
    console.log('calculates a price');
    await sleep(500);
    // Meanwhile this process may have been paused and another one elected. Only the table can
    // detect that.
    await write(leadership, Math.round(Math.random() * 10_000) / 100);
  }
});
await member.close();
await store.close();
await database.end();

async function write(leadership: Leadership, euros: number): Promise<void> {
  const { term } = leadership;
  const written = await inTransaction(async (query) => {
    const { rowCount } = await query(ADMIT, [term]);
    if (rowCount === 0) return false;
    await query('INSERT INTO price (term, writer, euros) VALUES ($1, $2, $3)', [term, member.memberId, euros]);
    return true;
  });
  if (written) return console.log(`wrote ${euros} in term ${term}`);
  const { rows } = await database.query<{ term: string }>("SELECT term FROM fence WHERE resource = 'price'");
  const seen = BigInt(rows[0]?.term ?? 0);
  console.log(`refused: the table has seen term ${seen}, and this is term ${term}`);
  // A process can report a newer term that it learned elsewhere before its own store reports it.
  leadership.reportTerm(seen);
}

type Query = (sql: string, values?: readonly unknown[]) => Promise<{ readonly rowCount: number | null }>;

async function inTransaction<T>(task: (query: Query) => Promise<T>): Promise<T> {
  const connection = await database.connect();
  try {
    await connection.query('BEGIN');
    const result = await task((sql, values) => connection.query(sql, values === undefined ? undefined : [...values]));
    await connection.query('COMMIT');
    connection.release();
    return result;
  } catch (error) {
    connection.release(true); // the transaction ends with its connection
    throw error;
  }
}
