import type { SqlGuard } from '@incumbent/postgres';
import { PrismaPg } from '@prisma/adapter-pg';

import { writePrices } from '../prices.ts';
import { PrismaClient } from './dist/client.ts';

const [databaseUrl = 'postgres://localhost/postgres'] = process.argv.slice(2);
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: databaseUrl }) });
await prisma.$executeRaw`CREATE TABLE IF NOT EXISTS fenced_price (euros integer NOT NULL)`;

async function writePrice(guard: SqlGuard, euros: number): Promise<void> {
  await prisma.$transaction(async (transaction) => {
    await transaction.$executeRawUnsafe(guard.text, ...guard.values);
    await transaction.fencedPrice.create({ data: { euros } });
  });
}

await writePrices(databaseUrl, writePrice);
await prisma.$disconnect();
