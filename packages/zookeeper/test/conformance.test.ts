/**
 * The store contract on a real ZooKeeper. Real time: the server's own clock ends the leases, and
 * nothing moves that but time.
 */

import { runCases, storeCases } from '@incumbent/conformance';
import { requireStore, startZookeeper, type ZookeeperServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, it } from 'vitest';

import { zookeeperHarness } from './harness.ts';

describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('zookeeper', () => {
  let zookeeper: ZookeeperServer;

  beforeAll(async () => {
    zookeeper = await startZookeeper();
  });
  afterAll(() => zookeeper.stop());

  // Each case has a namespace of its own, and spends its time waiting.
  runCases(
    storeCases,
    zookeeperHarness(() => zookeeper),
    { describe, it: it.concurrent },
  );
});
