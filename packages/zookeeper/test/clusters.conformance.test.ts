import { clusterCases, runCases } from '@incumbent/conformance';
import { startZookeeperCluster } from '@incumbent/test-support';
import { withClusterFaults } from '@incumbent/test-support/conformance-harness';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it } from 'vitest';

import { zookeeperHarness } from './harness.ts';

await describeOnServer('scenarios on zookeeper, three servers', { store: 'zookeeper', start: startZookeeperCluster }, (cluster) => {
  // The cases run one after the other, because each breaks the servers.
  runCases(clusterCases, withClusterFaults(cluster, zookeeperHarness(cluster)), { describe, it });
});
