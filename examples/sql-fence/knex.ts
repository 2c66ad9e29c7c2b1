import type { SqlGuard } from '@incumbent/postgres';
import knex from 'knex';

import { writePrices } from './prices.ts';

const [databaseUrl = 'postgres://localhost/postgres'] = process.argv.slice(2);
const db = knex({ client: 'pg', connection: databaseUrl });
await db.raw('CREATE TABLE IF NOT EXISTS fenced_price (euros integer NOT NULL)');

async function writePrice(guard: SqlGuard, euros: number): Promise<void> {
  await db.transaction(async (transaction) => {
    await transaction.raw(guard.literal);
    await transaction('fenced_price').insert({ euros });
  });
}

await writePrices(databaseUrl, writePrice);
await db.destroy();
