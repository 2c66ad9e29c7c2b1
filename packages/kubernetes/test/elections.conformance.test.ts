import { electionCases, runCases } from '@incumbent/conformance';
import { startKubernetes } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it } from 'vitest';

import { kubernetesHarness } from './harness.ts';

await describeOnServer('elections on kubernetes', { store: 'kubernetes', start: startKubernetes }, (server) => {
  // The cases are concurrent because each has its own namespace, and waits most of the time.
  runCases(electionCases, kubernetesHarness(server), { describe, it: it.concurrent });
});
