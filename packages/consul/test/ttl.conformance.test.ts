import { runCases, storeCases } from '@incumbent/conformance';
import { startConsul } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it } from 'vitest';

import { consulHarness } from './harness.ts';

const start = () => startConsul({ settings: { session_ttl_min: '1s' } });

await describeOnServer('consul, sessions with a ttl alone', { store: 'consul', start }, (consul) => {
  const useHarness = consulHarness(consul, { ttlMs: 2_000, session: 'ttl', minSessionTtlMs: 1_000 });
  // The cases are concurrent because each has its own namespace, and waits most of the time.
  runCases(storeCases, useHarness, { describe, it: it.concurrent });
});
