import { makeCertificates } from '../certificates.ts';
import { ServerProcess } from '../process.ts';
import type { ServerProcesses } from '../processes.ts';
import type { ServerSource } from '../server-source.ts';
import { onlyServer, startCluster, startServers } from '../start.ts';
import { consulKind } from './kind.ts';
import { instancePlan } from './launch.ts';
import { pickPorts, urlOf, type AgentPlan, type ClusterPlan } from './plan.ts';
import { consulSource } from './source.ts';
import type { ConsulCluster, ConsulOptions, ConsulServer } from './types.ts';

export interface ConsulClusterOptions extends ConsulOptions {
  /** How many servers: 3 by default. */
  readonly size?: number;
  /** How many agents that are no servers: none by default. */
  readonly agents?: number;
}

/** Starts a Consul of one server, of one's own, and resolves when it serves. Throws `StoreUnavailable` where none can be had. */
export async function startConsul(options: ConsulOptions = {}): Promise<ConsulServer> {
  return onlyServer(await start(1, 0, options));
}

/** Starts a Consul of several servers and agents, of one's own, and resolves when all serve. Throws `StoreUnavailable` where none can be had. */
export async function startConsulCluster({ size = 3, agents = 0, ...options }: ConsulClusterOptions = {}): Promise<ConsulCluster> {
  const cluster = await start(size, agents, options);
  const servers = cluster.servers.slice(0, size);
  return Object.assign(cluster, { servers, endpoints: servers.map(({ url }) => url), agents: cluster.servers.slice(size) });
}

async function start(size: number, agents: number, options: ConsulOptions): Promise<ServerProcesses> {
  const source = await consulSource();
  return startCluster('consul', async (premises) => {
    const { folder } = premises;
    const certificates = options.tls === undefined ? undefined : await makeCertificates(folder, 'client');
    return startServers(premises, async () => make(source, await pickPorts(size, agents), { ...options, folder, certificates }));
  });
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
