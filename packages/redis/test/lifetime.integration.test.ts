/** What a store does to the life of its process. */

import { requireStore, startRedis } from '@incumbent/test-support';
import { lifetimeTests } from '@incumbent/test-support/lifetime-suite';
import { describe } from 'vitest';

describe.runIf(await requireStore({ store: 'redis', own: true }))('a process', () => {
  lifetimeTests({
    script: new URL('scripts/lifetime.ts', import.meta.url),
    start: startRedis,
    startSecure: () => startRedis({ tls: 'server' }),
    urlOf: (url, ca) =>
      ca === undefined ? `redis://${new URL(url).host}/lifetime` : `rediss://${new URL(url).host}/lifetime?ca=${encodeURIComponent(ca)}`,
  });
});
