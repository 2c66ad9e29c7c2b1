/** The store contract on a real API server. Real time: only the observers' clocks end leases. */

import { runCases, storeCases } from '@incumbent/conformance';
import { startKubernetes } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it } from 'vitest';

import { kubernetesHarness } from './harness.ts';

await describeOnServer('kubernetes', { store: 'kubernetes', start: startKubernetes }, (server) => {
  // The cases are concurrent because each has its own namespace, and waits most of the time.
  runCases(storeCases, kubernetesHarness(server), { describe, it: it.concurrent });
});
