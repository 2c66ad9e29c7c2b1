/** The store contract on a real Consul. Real time: the server's own clock ends the leases, and nothing moves that but time. */

import { runCases, storeCases } from '@incumbent/conformance';
import { requireStore, startConsul, type ConsulServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, it } from 'vitest';

import { consulHarness } from './harness.ts';

describe.runIf(await requireStore({ store: 'consul', own: true }))('consul, sessions bound to checks', () => {
  let consul: ConsulServer;

  beforeAll(async () => {
    consul = await startConsul();
  });
  afterAll(() => consul.stop());

  // Each case has a namespace of its own, and spends its time waiting.
  runCases(
    storeCases,
    consulHarness(() => consul, { ttlMs: 2_000, session: 'check' }),
    { describe, it: it.concurrent },
  );
});
