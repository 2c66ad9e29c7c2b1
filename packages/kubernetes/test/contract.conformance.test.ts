/**
 * The store contract on a real API server. Only the observers' clocks end leases, so these cases
 * take longer than those of the other stores. They run with the elections.
 */

import { runCases, storeCases } from '@incumbent/conformance';
import { startKubernetes } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it, vi } from 'vitest';

import { CASE_TIMEOUT_MS, kubernetesHarness } from './harness.ts';

// The cases wait most of the time.
vi.setConfig({ maxConcurrency: 6, testTimeout: CASE_TIMEOUT_MS });

await describeOnServer('kubernetes', { store: 'kubernetes', start: startKubernetes }, (server) => {
  // Each has its own namespace. Some send hundreds of requests at once, so calls get more time
  // here.
  runCases(storeCases, kubernetesHarness(server, { timeoutMs: 10_000 }), { describe, it: it.concurrent });
});
