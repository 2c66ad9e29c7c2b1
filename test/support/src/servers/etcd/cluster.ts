import { makeCertificates } from '../certificates.ts';
import { ServerProcess } from '../process.ts';
import type { ServerProcesses } from '../processes.ts';
import type { ServerSource } from '../server-source.ts';
import { onlyServer, startCluster, startServers } from '../start.ts';
import { enableAuth } from './auth.ts';
import { etcdKind } from './kind.ts';
import { PeerLinks } from './links.ts';
import { instancePlan, pickAddresses, type ClusterPlan } from './plan.ts';
import { etcdSource } from './source.ts';
import { idOf } from './status.ts';
import type { EtcdCluster, EtcdOptions, EtcdServer } from './types.ts';

export interface EtcdClusterOptions extends EtcdOptions {
  /** 3 by default. */
  readonly size?: number;
  /** Whether servers can be cut off from one another: what they say then passes through this process, and they suffer when it is blocked for long. False by default. */
  readonly gated?: boolean;
}

/** Starts an etcd of one server, of one's own, and resolves when it serves. Throws `StoreUnavailable` where none can be had. */
export async function startEtcd(options: EtcdOptions = {}): Promise<EtcdServer> {
  const { cluster } = await start({ ...options, size: 1 });
  return onlyServer(cluster);
}

/** Starts an etcd of several servers, of one's own, and resolves when all serve. Throws `StoreUnavailable` where none can be had. */
export async function startEtcdCluster(options: EtcdClusterOptions = {}): Promise<EtcdCluster> {
  const { cluster, links } = await start(options);
  links?.name(await Promise.all(cluster.servers.map(idOf)));
  const gates = (): PeerLinks => {
    if (links === undefined) throw new Error('the servers are not gated: start the cluster with `gated`');
    return links;
  };
  return Object.assign(cluster, {
    cutOff: (server: number) => gates().cutOff(server),
    cutOneWay: (from: number, to: number) => gates().cutOneWay(from, to),
    slow: (server: number, ms: number) => gates().slow(server, ms),
    heal: async () => links?.heal(),
  });
}

interface Started {
  readonly cluster: ServerProcesses;
  readonly links: PeerLinks | undefined;
}

async function start({ size = 3, version = 'default', gated = false, ...options }: EtcdClusterOptions): Promise<Started> {
  const source = await etcdSource(version);
  let links: PeerLinks | undefined;
  const cluster = await startCluster('etcd', async (premises) => {
    const { folder, resources } = premises;
    const certificates = options.tls === undefined ? undefined : await makeCertificates(folder, options.auth?.user ?? 'client');
    links = gated ? resources.use(await PeerLinks.open(size)) : undefined;
    const plan = { ...options, folder, certificates, links };
    const servers = await startServers(premises, () => make(source, size, plan));
    const [first] = servers;
    if (first !== undefined && options.auth !== undefined) await enableAuth(first, options.auth);
    return servers;
  });
  return { cluster, links };
}

async function make(source: ServerSource, size: number, plan: ClusterPlan): Promise<readonly ServerProcess[]> {
  const { auth, certificates: tls } = plan;
  const addresses = await pickAddresses(size, plan);
  return addresses.map((self) => {
    const instance = source.instance(instancePlan(self, addresses, plan));
    return new ServerProcess({ url: self.client, instance, kind: etcdKind, auth, tls });
  });
}
