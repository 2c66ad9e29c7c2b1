import { clusterCases, runCases } from '@incumbent/conformance';
import { startEtcdCluster } from '@incumbent/test-support';
import { withClusterFaults } from '@incumbent/test-support/conformance-harness';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it } from 'vitest';

import { etcdHarness } from './harness.ts';

await describeOnServer('scenarios on etcd, three servers', { store: 'etcd', start: startEtcdCluster }, (cluster) => {
  // The cases run one after the other, because each breaks the servers.
  runCases(clusterCases, withClusterFaults(cluster, etcdHarness(cluster)), { describe, it });
});
