import type { SqlGuard } from '@incumbent/postgres';
import { CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely';
import { Pool } from 'pg';

import { writePrices } from './prices.ts';

interface Database {
  readonly fenced_price: { readonly euros: number };
}

const [databaseUrl = 'postgres://localhost/postgres'] = process.argv.slice(2);
const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool: new Pool({ connectionString: databaseUrl }) }) });
await sql`CREATE TABLE IF NOT EXISTS fenced_price (euros integer NOT NULL)`.execute(db);

async function writePrice(guard: SqlGuard, euros: number): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await transaction.executeQuery(CompiledQuery.raw(guard.text, guard.values));
    await transaction.insertInto('fenced_price').values({ euros }).execute();
  });
}

await writePrices(databaseUrl, writePrice);
await db.destroy();
