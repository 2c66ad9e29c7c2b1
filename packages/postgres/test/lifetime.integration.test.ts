/** Whether an open store keeps its process alive. */

import { hostOf, requireStore, startPostgres } from '@incumbent/test-support';
import { lifetimeTests } from '@incumbent/test-support/lifetime-suite';
import { describe } from 'vitest';

describe.runIf(await requireStore({ store: 'postgres', own: true }))('a process', () => {
  lifetimeTests({
    script: new URL('scripts/lifetime.ts', import.meta.url),
    start: startPostgres,
    startSecure: () => startPostgres({ tls: 'server' }),
    urlOf: (url, ca) => {
      const tls = ca === undefined ? '' : `&sslmode=verify-full&ca=${encodeURIComponent(ca)}`;
      return `postgres://test@${hostOf(url)}/postgres?namespace=lifetime${tls}`;
    },
  });
});
