/**
 * The store contract on a real ZooKeeper. Real time: the server's own clock ends the leases, and
 * nothing moves that but time.
 */

import { runCases, storeCases } from '@incumbent/conformance';
import { startZookeeper } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it } from 'vitest';

import { zookeeperHarness } from './harness.ts';

await describeOnServer('zookeeper', { store: 'zookeeper', start: startZookeeper }, (zookeeper) => {
  // The cases are concurrent because each has its own namespace, and waits most of the time.
  runCases(storeCases, zookeeperHarness(zookeeper), { describe, it: it.concurrent });
});
