import { clusterCases, runCases, type UseHarness } from '@incumbent/conformance';
import { clusterFaults, requireStore, startZookeeperCluster, type ZookeeperCluster } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, it } from 'vitest';

import { zookeeperHarness } from './harness.ts';

describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('scenarios on zookeeper, three servers', () => {
  let cluster: ZookeeperCluster;

  beforeAll(async () => {
    cluster = await startZookeeperCluster();
  });
  afterAll(() => cluster.stop());

  const useHarness: UseHarness = (body) =>
    zookeeperHarness(() => cluster)(async (harness) => {
      const faults = clusterFaults(cluster);
      try {
        await body({ ...harness, cluster: faults });
      } finally {
        await faults.restore();
      }
    });
  // One after the other: each has the servers for itself.
  runCases(clusterCases, useHarness, { describe, it });
});
