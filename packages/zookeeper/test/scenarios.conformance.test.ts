import { outageCases, runCases, scenarioCases } from '@incumbent/conformance';
import { startZookeeper } from '@incumbent/test-support';
import { withOwnServer } from '@incumbent/test-support/conformance-harness';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it, vi } from 'vitest';

import { zookeeperHarness } from './harness.ts';

// The cases wait most of the time.
vi.setConfig({ maxConcurrency: 8 });
const concurrent = { describe: describe.concurrent, it: it.concurrent };

await describeOnServer('scenarios on zookeeper', { store: 'zookeeper', start: startZookeeper }, (zookeeper) => {
  // Each kills its own server. One by one, and before the others: to start a server takes both
  // cores for seconds, in which the leases of other cases would expire.
  runCases(outageCases, withOwnServer(startZookeeper, zookeeperHarness), { describe, it });
  runCases(scenarioCases, zookeeperHarness(zookeeper), concurrent);
});
