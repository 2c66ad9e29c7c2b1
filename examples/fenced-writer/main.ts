/**
 * A leader that writes to a PostgreSQL table, which rejects the writes of former leaders: by the
 * term in the table, and if the store is in the same database, by the SQL fence.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { isStaleTerm, openPostgres, type SqlGuard, sqlGuard } from '@incumbent/postgres';
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
database.on('error', ({ message }) => console.error(`an idle connection has ended: ${message}`));
database.on('connect', (connection) => connection.on('error', () => {})); // ended in use: the next query rejects
// Processes that start at the same time must not create the same table at once.
await inTransaction(async (query) => {
  await query("SELECT pg_advisory_xact_lock(hashtext('price'))");
  await query(SCHEMA);
});

// With the store in the database of the table, the pool serves both.
const isSameDatabase = storeUrl === 'same';
const store = isSameDatabase ? await openPostgres({ pool: database }) : await openStore(storeUrl);
const member = new Member(store, { ttlMs: 3_000, drainMs: 800 }); // a round takes half a second
member.shutdownOn('SIGTERM', 'SIGINT');

await member.election('price').lead(async (leadership) => {
  const guard = isSameDatabase ? sqlGuard(store, leadership) : undefined;
  while (leadership.isValid()) {
    console.log('calculates a price');
    await sleep(500);
    // Meanwhile this process may have been paused and another one elected. Only the table can
    // detect that.
    const euros = Math.round(Math.random() * 10_000) / 100;
    await (guard === undefined ? write(leadership, euros) : writeGuarded(leadership, guard, euros));
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

/** Needs no table for the terms: until this transaction ends, no other member is elected. */
async function writeGuarded({ term }: Leadership, guard: SqlGuard, euros: number): Promise<void> {
  try {
    await inTransaction(async (query) => {
      await query(guard.text, guard.values);
      await query('INSERT INTO price (term, writer, euros) VALUES ($1, $2, $3)', [term, member.memberId, euros]);
    });
    console.log(`wrote ${euros} in term ${term}`);
  } catch (error) {
    if (!isStaleTerm(error)) throw error;
    console.log(`refused: term ${term} is not the last one`);
  }
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
