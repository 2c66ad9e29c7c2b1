/** Whether an open store keeps its process alive. */

import { hostOf, requireStore, spawnScript, startPostgres } from '@incumbent/test-support';
import { endsByItself, lifetimeTests } from '@incumbent/test-support/lifetime-suite';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it } from 'vitest';

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

// The pool's own attempts to connect do keep the process alive, so no server is silent here.
await describeOnServer('a process with a pool', { store: 'postgres', start: () => startPostgres() }, (server) => {
  it.each(['idle', 'watches'])('ends by itself: %s', async (mode) => {
    const url = `${server().url}?namespace=lifetime`;
    await using script = await spawnScript(new URL('scripts/pool-lifetime.ts', import.meta.url), { args: [url, mode] });
    await endsByItself(script);
  });
});
