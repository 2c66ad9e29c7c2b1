import { outageCases, runCases, scenarioCases } from '@incumbent/conformance';
import { startKubernetes } from '@incumbent/test-support';
import { withOwnServer } from '@incumbent/test-support/conformance-harness';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it, vi } from 'vitest';

import { CASE_TIMEOUT_MS, kubernetesHarness } from './harness.ts';

// The cases wait most of the time.
vi.setConfig({ maxConcurrency: 4, testTimeout: CASE_TIMEOUT_MS });
const concurrent = { describe: describe.concurrent, it: it.concurrent };

await describeOnServer('scenarios on kubernetes', { store: 'kubernetes', start: startKubernetes }, (server) => {
  // Each kills its own server. One by one, and before the others: to start a server takes both
  // cores for seconds, in which the leases of other cases would expire.
  runCases(outageCases, withOwnServer(startKubernetes, kubernetesHarness), { describe, it });
  runCases(scenarioCases, kubernetesHarness(server), concurrent);
});
