import { electionCases, runCases } from '@incumbent/conformance';
import { startZookeeper } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it } from 'vitest';

import { zookeeperHarness } from './harness.ts';

await describeOnServer('elections on zookeeper', { store: 'zookeeper', start: startZookeeper }, (zookeeper) => {
  // The cases are concurrent because each has its own namespace, and waits most of the time.
  runCases(electionCases, zookeeperHarness(zookeeper), { describe, it: it.concurrent });
});
