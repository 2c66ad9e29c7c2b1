/** Whether an open store keeps its process alive. */

import { startEtcd } from '@incumbent/test-support';
import { describeLifetime } from '@incumbent/test-support/lifetime-suite';

await describeLifetime('etcd', startEtcd, new URL('scripts/lifetime.ts', import.meta.url));
