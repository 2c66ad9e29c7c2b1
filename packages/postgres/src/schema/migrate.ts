/** Creates the schema, or brings an older one up to date. */

import type { AttemptOptions } from '@incumbent/network';

import type { Client } from '../client/client.ts';
import { migrationSql } from './schema.ts';

/**
 * Runs one statement, which is one transaction. Of many processes that start together, one does the
 * work and the others wait for it. Rejects with an `ExchangeError`; then nothing has changed,
 * unless the answer was lost.
 */
export async function migrate(client: Client, schema: string, options: AttemptOptions): Promise<void> {
  await client.call((lockTimeoutMs) => migrationSql(schema, lockTimeoutMs), options);
}
