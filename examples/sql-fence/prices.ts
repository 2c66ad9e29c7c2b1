/** A leader that writes prices in two transactions: one of its term, and one after its term. */

import { Member } from '@incumbent/core';
import { isStaleTerm, openPostgres, type SqlGuard, sqlGuard } from '@incumbent/postgres';

/** Writes a price in a transaction that begins with the guard. */
export type WritePrice = (guard: SqlGuard, euros: number) => Promise<void>;

export async function writePrices(databaseUrl: string, writePrice: WritePrice): Promise<void> {
  const store = await openPostgres(databaseUrl);
  const member = new Member(store, { ttlMs: 5_000 });
  const leadership = await member.election('price').campaign();
  const guard = sqlGuard(store, leadership);
  await writePrice(guard, 10);
  console.log('written');
  await leadership.resign();
  try {
    await writePrice(guard, 20);
    console.log('written after the end of the term');
  } catch (error) {
    if (!isStaleTerm(error)) throw error;
    console.log('refused');
  }
  await member.close();
  await store.close();
}
