import { clusterCases, runCases, type UseHarness } from '@incumbent/conformance';
import { clusterFaults, requireStore, startEtcdCluster, type EtcdCluster } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, it } from 'vitest';

import { etcdHarness } from './harness.ts';

describe.runIf(await requireStore({ store: 'etcd', own: true }))('scenarios on etcd, three servers', () => {
  let cluster: EtcdCluster;

  beforeAll(async () => {
    cluster = await startEtcdCluster();
  });
  afterAll(() => cluster.stop());

  const useHarness: UseHarness = (body) =>
    etcdHarness(() => cluster)(async (harness) => {
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
