import type { Cluster, ClusterServer } from './types.ts';

/** The faults of a cluster's servers, named after the roles of the servers. */
export type ClusterFaults = ReturnType<typeof clusterFaults>;

/** Each fault may be called again after `restore`. */
export function clusterFaults(cluster: Pick<Cluster, 'servers' | 'leader'>) {
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
    /** Ends the server that leads the others, with SIGKILL. */
    killLeader: () => kill(1),
    /** Stops the server that leads the others, with SIGSTOP. */
    freezeLeader: () => freeze(1),
    /** Ends more than half of the servers, the one that leads among them. */
    killMajority: () => kill(majority),
    /** Stops more than half of the servers, the one that leads among them. */
    freezeMajority: () => freeze(majority),
    /** Resolves when all servers run and serve. */
    restore: async () => {
      await Promise.all([...frozen].map((server) => server.resume()));
      await Promise.all([...killed].map((server) => server.restart()));
      frozen.clear();
      killed.clear();
    },
  };
}
