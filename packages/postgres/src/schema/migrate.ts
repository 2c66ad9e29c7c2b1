/** Creates the schema, or brings an older one up to date. */

import type { Clock } from '@incumbent/core';
import { Attempt, type AttemptOptions } from '@incumbent/network';

import type { Dialler } from '../client/dialler.ts';
import { cut, ExchangeError } from '../client/failure.ts';
import { onlyRow, textAt } from '../client/rows.ts';
import { createSql, lockSql, SCHEMA_VERSION } from './schema.ts';

interface Target {
  readonly clock: Clock;
  readonly schema: string;
}

/**
 * Runs the statements in one transaction, on a connection of its own, which ends afterwards. Of many
 * processes that start together, one does the work and the others wait for it. Rejects with an
 * `ExchangeError`; then nothing has changed.
 */
export async function migrate(dialler: Dialler, { clock, schema }: Target, options: AttemptOptions): Promise<void> {
  const attempt = new Attempt(clock, options, ExchangeError);
  const connection = await attempt.wait(dialler.open(attempt.signal)).catch((error: unknown) => {
    attempt.end();
    throw error;
  });
  attempt.sent = true;
  const run = (statement: string) => attempt.wait(connection.query(statement));
  try {
    await run('BEGIN');
    await run(lockSql(schema));
    const exists = await run(`SELECT to_regprocedure('${schema}.version()') IS NOT NULL`);
    const isThere = textAt(onlyRow(exists), 0) === 't';
    const version = isThere ? Number(textAt(onlyRow(await run(`SELECT ${schema}.version()`)), 0)) : 0;
    if (version < SCHEMA_VERSION) await run(createSql(schema));
    await run('COMMIT');
  } finally {
    attempt.end();
    connection.end(cut('the schema is there'));
  }
}
