/**
 * A process that opens a store with a pool of its own, and then has nothing to do. Started by
 * `lifetime.integration.test.ts`.
 */

import { openPostgres } from '@incumbent/postgres';
import { live } from '@incumbent/test-support/lifetime';
import { Pool } from 'pg';

await live((text) => {
  const url = new URL(text);
  const namespace = url.searchParams.get('namespace') ?? '';
  url.searchParams.delete('namespace');
  return openPostgres({ pool: new Pool({ connectionString: url.href }), namespace });
});
