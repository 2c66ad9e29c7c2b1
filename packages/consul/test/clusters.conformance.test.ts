import { clusterCases, runCases } from '@incumbent/conformance';
import { startConsulCluster, type Consul, type ConsulCluster } from '@incumbent/test-support';
import { withClusterFaults } from '@incumbent/test-support/conformance-harness';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it } from 'vitest';

import { consulHarness } from './harness.ts';

/** Services use the agent of their own host, which is not one of the servers. */
function agentOf({ agents: [agent] }: ConsulCluster): Consul {
  if (agent === undefined) throw new Error('a cluster without an agent');
  return agent;
}

const start = () => startConsulCluster({ agents: 1 });

await describeOnServer('scenarios on consul, three servers', { store: 'consul', start }, (cluster) => {
  const useHarness = withClusterFaults(
    cluster,
    consulHarness(() => agentOf(cluster())),
  );
  // The cases run one after the other, because each breaks the servers.
  runCases(clusterCases, useHarness, { describe, it });
});
