/** The store contract on a real API server. Real time: only the observers' clocks end leases. */

import { runCases, storeCases } from '@incumbent/conformance';
import { startKubernetes } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it, vi } from 'vitest';

import { CASE_TIMEOUT_MS, kubernetesHarness } from './harness.ts';

// The cases wait most of the time.
vi.setConfig({ maxConcurrency: 6, testTimeout: CASE_TIMEOUT_MS });

await describeOnServer('kubernetes', { store: 'kubernetes', start: startKubernetes }, (server) => {
  // Each has its own namespace.
  runCases(storeCases, kubernetesHarness(server), { describe, it: it.concurrent });
});
