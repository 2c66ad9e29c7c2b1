import { clusterCases, runCases, type UseHarness } from '@incumbent/conformance';
import { clusterFaults, requireStore, startConsulCluster, type Consul, type ConsulCluster } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, it } from 'vitest';

import { consulHarness } from './harness.ts';

/** As services know it: by the agent of their own host, which is none of the servers. */
function agentOf({ agents: [agent] }: ConsulCluster): Consul {
  if (agent === undefined) throw new Error('a cluster without an agent');
  return agent;
}

describe.runIf(await requireStore({ store: 'consul', own: true }))('scenarios on consul, three servers', () => {
  let cluster: ConsulCluster;

  beforeAll(async () => {
    cluster = await startConsulCluster({ agents: 1 });
  });
  afterAll(() => cluster.stop());

  const useHarness: UseHarness = (body) =>
    consulHarness(() => agentOf(cluster), { ttlMs: 2_000, session: 'check' })(async (harness) => {
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
