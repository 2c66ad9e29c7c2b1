import { electionCases, runCases, storeCases } from '@incumbent/conformance';
import { startZookeeper } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it } from 'vitest';

import { zookeeperHarness } from './harness.ts';

const start = () => startZookeeper({ version: 'newer' });

await describeOnServer('a newer zookeeper', { store: 'zookeeper', version: 'newer', start }, (zookeeper) => {
  // The cases are concurrent because each has its own namespace, and waits most of the time.
  runCases([...storeCases, ...electionCases], zookeeperHarness(zookeeper), { describe, it: it.concurrent });
});
