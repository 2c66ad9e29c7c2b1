import type { SqlGuard } from '@incumbent/postgres';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, pgTable } from 'drizzle-orm/pg-core';
import { Pool } from 'pg';

import { writePrices } from './prices.ts';

const [databaseUrl = 'postgres://localhost/postgres'] = process.argv.slice(2);
const pool = new Pool({ connectionString: databaseUrl });
const db = drizzle({ client: pool });
const fencedPrice = pgTable('fenced_price', { euros: integer().notNull() });
await db.execute(sql`CREATE TABLE IF NOT EXISTS fenced_price (euros integer NOT NULL)`);

async function writePrice(guard: SqlGuard, euros: number): Promise<void> {
  await db.transaction(async (transaction) => {
    await transaction.execute(sql.raw(guard.literal));
    await transaction.insert(fencedPrice).values({ euros });
  });
}

await writePrices(databaseUrl, writePrice);
await pool.end();
