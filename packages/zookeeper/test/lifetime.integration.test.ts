/** Whether an open store keeps its process alive. */

import { requireStore, startZookeeper } from '@incumbent/test-support';
import { lifetimeTests } from '@incumbent/test-support/lifetime-suite';
import { describe } from 'vitest';

describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('a process', () => {
  lifetimeTests({
    script: new URL('scripts/lifetime.ts', import.meta.url),
    start: startZookeeper,
    startSecure: () => startZookeeper({ tls: 'server' }),
    urlOf: (url, ca) =>
      ca === undefined
        ? `zookeeper://${new URL(url).host}/lifetime`
        : `zookeepers://${new URL(url).host}/lifetime?ca=${encodeURIComponent(ca)}`,
  });
});
