/**
 * A process that opens a store and then has nothing to do. Started by
 * `lifetime.integration.test.ts`.
 */

import { openConsul } from '@incumbent/consul';
import { live } from '@incumbent/test-support/lifetime';

await live(openConsul);
