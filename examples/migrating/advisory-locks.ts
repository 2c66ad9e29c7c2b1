import { setTimeout as sleep } from 'node:timers/promises';
import { openPostgres, sqlGuard } from '@incumbent/postgres';
import { type Leadership, Member } from 'incumbent';
import { Pool } from 'pg';

const [url = 'postgres://app@127.0.0.1/shop?namespace=my-app'] = process.argv.slice(2);
const pool = new Pool({ connectionString: url });
pool.on('error', ({ message }) => console.error(`an idle connection has ended: ${message}`));
pool.on('connect', (client) => client.on('error', () => {})); // ended in use: its next query rejects
const store = await openPostgres(url);
const member = new Member(store, { ttlMs: 5_000 });
member.shutdownOn('SIGTERM', 'SIGINT');

await member.election('invoices').lead(
  async (leadership) => {
    while (leadership.isValid()) {
      await bill(leadership);
      await sleep(1_000, undefined, { signal: leadership.signal });
    }
  },
  { retry: () => true }, // campaigns again when a transaction has failed
);
await member.close();
await store.close();
await pool.end();

async function bill(leadership: Leadership): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await client.query(sqlGuard(store, leadership)); // fails if this leader has been replaced
    // the invoices, in the same transaction
    await client.query('COMMIT');
    client.release();
  } catch (error) {
    client.release(true); // the transaction ends with its connection
    throw error;
  }
  console.log(`bills with term ${leadership.term}`);
}
