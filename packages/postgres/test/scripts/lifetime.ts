/**
 * A process that opens a store and then has nothing to do. Started by
 * `lifetime.integration.test.ts`.
 */

import { openPostgres } from '@incumbent/postgres';
import { live } from '@incumbent/test-support/lifetime';

await live(openPostgres);
