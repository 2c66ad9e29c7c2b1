import { electionCases, runCases } from '@incumbent/conformance';
import { startKubernetes } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it, vi } from 'vitest';

import { CASE_TIMEOUT_MS, kubernetesHarness } from './harness.ts';

// The cases wait most of the time.
vi.setConfig({ maxConcurrency: 4, testTimeout: CASE_TIMEOUT_MS });

await describeOnServer('elections on kubernetes', { store: 'kubernetes', start: startKubernetes }, (server) => {
  // Each has its own namespace.
  runCases(electionCases, kubernetesHarness(server), { describe, it: it.concurrent });
});
