import type { SqlGuard } from '@incumbent/postgres';
import { Pool } from 'pg';

import { writePrices } from './prices.ts';

const [databaseUrl = 'postgres://localhost/postgres'] = process.argv.slice(2);
const pool = new Pool({ connectionString: databaseUrl });
await pool.query('CREATE TABLE IF NOT EXISTS fenced_price (euros integer NOT NULL)');

async function writePrice(guard: SqlGuard, euros: number): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await client.query(guard);
    await client.query('INSERT INTO fenced_price (euros) VALUES ($1)', [euros]);
    await client.query('COMMIT');
    client.release();
  } catch (error) {
    client.release(true); // the transaction ends with its connection
    throw error;
  }
}

await writePrices(databaseUrl, writePrice);
await pool.end();
