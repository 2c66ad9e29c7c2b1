/** What a store does to the life of its process. */

import { requireStore, startEtcd } from '@incumbent/test-support';
import { lifetimeTests } from '@incumbent/test-support/lifetime-suite';
import { describe } from 'vitest';

describe.runIf(await requireStore({ store: 'etcd', own: true }))('a process', () => {
  lifetimeTests({
    script: new URL('scripts/lifetime.ts', import.meta.url),
    start: startEtcd,
    startSecure: () => startEtcd({ tls: 'server' }),
    urlOf: (url, ca) =>
      ca === undefined ? `etcd://${new URL(url).host}/lifetime` : `etcds://${new URL(url).host}/lifetime?ca=${encodeURIComponent(ca)}`,
  });
});
