/** Whether an open store keeps its process alive. */

import { startRedis } from '@incumbent/test-support';
import { describeLifetime } from '@incumbent/test-support/lifetime-suite';

await describeLifetime('redis', startRedis, new URL('scripts/lifetime.ts', import.meta.url));
