import type { Cluster, ClusterServer } from './types.ts';

/**
 * Faults of the servers of a cluster, selected by their roles. Each can be repeated once the
 * cluster was restored.
 */
export interface ClusterFaults {
  /** Kills the server that leads the others (SIGKILL). */
  killLeader(): Promise<void>;
  /** Stops the server that leads the others (SIGSTOP). */
  freezeLeader(): Promise<void>;
  /** Kills more than half of the servers, including the leading one. */
  killMajority(): Promise<void>;
  /** Stops more than half of the servers, including the leading one. */
  freezeMajority(): Promise<void>;
  /** Resolves when all servers run and serve requests. */
  restore(): Promise<void>;
}

export function clusterFaults(cluster: Pick<Cluster, 'servers' | 'leader'>): ClusterFaults {
  const killed = new Set<ClusterServer>();
  const frozen = new Set<ClusterServer>();
  const leaderFirst = async (): Promise<readonly ClusterServer[]> => {
    const leader = cluster.servers[await cluster.leader()];
    if (leader === undefined) throw new Error('the server that leads is none of the cluster');
    return [leader, ...cluster.servers.filter((server) => server !== leader)];
  };
  const majority = Math.floor(cluster.servers.length / 2) + 1;
  const kill = async (count: number): Promise<void> => {
    const servers = (await leaderFirst()).slice(0, count);
    for (const server of servers) killed.add(server);
    await Promise.all(servers.map((server) => server.kill()));
  };
  const freeze = async (count: number): Promise<void> => {
    const servers = (await leaderFirst()).slice(0, count);
    for (const server of servers) frozen.add(server);
    await Promise.all(servers.map((server) => server.pause()));
  };
  return {
    killLeader: () => kill(1),
    freezeLeader: () => freeze(1),
    killMajority: () => kill(majority),
    freezeMajority: () => freeze(majority),
    restore: async () => {
      await Promise.all([...frozen].map((server) => server.resume()));
      await Promise.all([...killed].map((server) => server.restart()));
      frozen.clear();
      killed.clear();
    },
  };
}
