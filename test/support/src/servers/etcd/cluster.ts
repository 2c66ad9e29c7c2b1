import { makeCertificates } from '../certificates.ts';
import { ServerProcess } from '../process.ts';
import type { ServerProcesses } from '../processes.ts';
import type { ServerSource } from '../server-source.ts';
import { onlyServer, startCluster, startServers } from '../start.ts';
import { enableAuth } from './auth.ts';
import { etcdKind } from './kind.ts';
import { instancePlan, pickAddresses, type ClusterPlan } from './plan.ts';
import { etcdSource } from './source.ts';
import type { EtcdCluster, EtcdOptions, EtcdServer } from './types.ts';

export interface EtcdClusterOptions extends EtcdOptions {
  /** 3 by default. */
  readonly size?: number;
}

/** Starts an etcd of one server, of one's own, and resolves when it serves. Throws `StoreUnavailable` where none can be had. */
export async function startEtcd(options: EtcdOptions = {}): Promise<EtcdServer> {
  return onlyServer(await start({ ...options, size: 1 }));
}

/** Starts an etcd of several servers, of one's own, and resolves when all serve. Throws `StoreUnavailable` where none can be had. */
export function startEtcdCluster(options: EtcdClusterOptions = {}): Promise<EtcdCluster> {
  return start(options);
}

async function start({ size = 3, version = 'default', ...options }: EtcdClusterOptions): Promise<ServerProcesses> {
  const source = await etcdSource(version);
  return startCluster('etcd', async (premises) => {
    const { folder } = premises;
    const certificates = options.tls === undefined ? undefined : await makeCertificates(folder, options.auth?.user ?? 'client');
    const servers = await startServers(premises, () => make(source, size, { ...options, folder, certificates }));
    const [first] = servers;
    if (first !== undefined && options.auth !== undefined) await enableAuth(first, options.auth);
    return servers;
  });
}

async function make(source: ServerSource, size: number, plan: ClusterPlan): Promise<readonly ServerProcess[]> {
  const { auth, certificates: tls } = plan;
  const addresses = await pickAddresses(size, plan);
  return addresses.map((self) => {
    const instance = source.instance(instancePlan(self, addresses, plan));
    return new ServerProcess({ url: self.client, instance, kind: etcdKind, auth, tls });
  });
}
