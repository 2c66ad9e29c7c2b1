/** Whether an open store keeps its process alive. */

import { startZookeeper } from '@incumbent/test-support';
import { describeLifetime } from '@incumbent/test-support/lifetime-suite';

await describeLifetime('zookeeper', startZookeeper, new URL('scripts/lifetime.ts', import.meta.url));
