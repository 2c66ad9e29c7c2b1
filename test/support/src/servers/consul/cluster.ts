import { makeCertificates } from '../certificates.ts';
import { ServerProcess } from '../process.ts';
import type { ServerProcesses } from '../processes.ts';
import type { ServerSource } from '../server-source.ts';
import { onlyServer, startCluster, startServers } from '../start.ts';
import type { Gates } from './gates.ts';
import { consulKind } from './kind.ts';
import { instancePlan } from './launch.ts';
import { pickPorts, urlOf, type AgentPlan, type ClusterPlan } from './plan.ts';
import { consulSource } from './source.ts';
import type { ConsulCluster, ConsulOptions, ConsulServer } from './types.ts';

export interface ConsulClusterOptions extends ConsulOptions {
  /** The number of servers. Default 3. */
  readonly size?: number;
  /** The number of agents that are not servers. Default 0. */
  readonly agents?: number;
  /**
   * Whether the servers have gates in front of them, which `cutOff` closes. Gossip then uses TCP
   * only, so failures are noticed differently than usual. Default false.
   */
  readonly gated?: boolean;
}

/**
 * Starts a Consul of one server for this process alone. Resolves when it serves requests. Throws
 * `StoreUnavailable` if Consul is not available.
 */
export async function startConsul(options: ConsulOptions = {}): Promise<ConsulServer> {
  const { cluster } = await start({ size: 1, agents: 0, gated: false }, options);
  return onlyServer(cluster);
}

/**
 * Starts a Consul of several servers and agents for this process alone. Resolves when all serve
 * requests. Throws `StoreUnavailable` if Consul is not available.
 */
export async function startConsulCluster({
  size = 3,
  agents = 0,
  gated = false,
  ...options
}: ConsulClusterOptions = {}): Promise<ConsulCluster> {
  const { cluster, gates } = await start({ size, agents, gated }, options);
  const servers = cluster.servers.slice(0, size);
  return Object.assign(cluster, {
    servers,
    endpoints: servers.map(({ url }) => url),
    agents: cluster.servers.slice(size),
    cutOff: () => {
      for (const gate of gates) gate.cut();
    },
    heal: async () => void (await Promise.all(gates.map((gate) => gate.heal()))),
  });
}

interface Started {
  readonly cluster: ServerProcesses;
  readonly gates: readonly Gates[];
}

async function start(
  { size, agents, gated }: Required<Omit<ConsulClusterOptions, keyof ConsulOptions>>,
  options: ConsulOptions,
): Promise<Started> {
  const source = await consulSource();
  let gates: readonly Gates[] = [];
  const cluster = await startCluster('consul', async (premises) => {
    const { folder, resources } = premises;
    const certificates = options.tls === undefined ? undefined : await makeCertificates(folder, 'client');
    return startServers(premises, async () => {
      const all = await pickPorts(size, agents, gated);
      gates = all.flatMap(({ gates: own }) => own ?? []);
      for (const gate of gates) resources.use(gate);
      return make(source, all, { ...options, folder, certificates });
    });
  });
  return { cluster, gates };
}

function make(source: ServerSource, all: readonly AgentPlan[], plan: ClusterPlan): Promise<readonly ServerProcess[]> {
  const kind = consulKind(plan);
  return Promise.all(
    all.map(async (self) => {
      const instance = source.instance(await instancePlan(self, all, plan));
      return new ServerProcess({ url: urlOf(self, plan), instance, kind, auth: undefined, tls: plan.certificates });
    }),
  );
}
