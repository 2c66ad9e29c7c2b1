import { join } from 'node:path';

import { makeCertificates } from '../certificates.ts';
import { FreezableDisk } from '../disk.ts';
import { ServerProcess } from '../process.ts';
import type { ServerProcesses } from '../processes.ts';
import type { ServerSource } from '../server-source.ts';
import { onlyServer, startCluster, startServers } from '../start.ts';
import { enableAuth } from './auth.ts';
import { etcdKind } from './kind.ts';
import { PeerLinks } from './links.ts';
import { instancePlan, pickAddresses, type Addresses, type ClusterPlan } from './plan.ts';
import { etcdSource } from './source.ts';
import { idOf } from './status.ts';
import type { EtcdCluster, EtcdOptions, EtcdServer } from './types.ts';

export interface EtcdClusterOptions extends EtcdOptions {
  /** The number of servers. Default 3. */
  readonly size?: number;
  /**
   * Whether servers can be cut off from each other. Their messages then pass through this process,
   * and they suffer when it is blocked for long. Default false.
   */
  readonly gated?: boolean;
  /**
   * Whether the first server has a disk of its own that can be frozen: see `requireFreezableDisk`.
   * Default false.
   */
  readonly freezable?: boolean;
}

/**
 * Starts an etcd of one server for this process alone. Resolves when it serves requests. Throws
 * `StoreUnavailable` if etcd is not available.
 */
export async function startEtcd(options: EtcdOptions = {}): Promise<EtcdServer> {
  const { cluster } = await start({ ...options, size: 1 });
  return onlyServer(cluster);
}

/**
 * Starts an etcd of several servers for this process alone. Resolves when all serve requests.
 * Throws `StoreUnavailable` if etcd is not available.
 */
export async function startEtcdCluster(options: EtcdClusterOptions = {}): Promise<EtcdCluster> {
  const { cluster, links, disk } = await start(options);
  links?.name(await Promise.all(cluster.servers.map(idOf)));
  const gates = (): PeerLinks => {
    if (links === undefined) throw new Error('the servers are not gated: start the cluster with `gated`');
    return links;
  };
  const firstDisk = (): FreezableDisk => {
    if (disk === undefined) throw new Error('no disk can be frozen: start the cluster with `freezable`');
    return disk;
  };
  return Object.assign(cluster, {
    freezeDisk: () => firstDisk().freeze(),
    thawDisk: () => firstDisk().thaw(),
    cutOff: (server: number) => gates().cutOff(server),
    cutOneWay: (from: number, to: number) => gates().cutOneWay(from, to),
    slow: (server: number, ms: number) => gates().slow(server, ms),
    heal: async () => links?.heal(),
  });
}

interface Started {
  readonly cluster: ServerProcesses;
  readonly links: PeerLinks | undefined;
  readonly disk: FreezableDisk | undefined;
}

async function start({
  size = 3,
  version = 'default',
  gated = false,
  freezable = false,
  ...options
}: EtcdClusterOptions): Promise<Started> {
  const source = await etcdSource(version);
  let links: PeerLinks | undefined;
  let disk: FreezableDisk | undefined;
  const cluster = await startCluster('etcd', async (premises) => {
    const { folder, resources } = premises;
    const certificates = options.tls === undefined ? undefined : await makeCertificates(folder, options.auth?.user ?? 'client');
    links = gated ? resources.use(await PeerLinks.open(size)) : undefined;
    const plan = { ...options, folder, certificates, links };
    const servers = await startServers(premises, async () => {
      const addresses = await pickAddresses(size, plan);
      const [first] = addresses;
      if (freezable && first !== undefined) {
        disk = resources.use(await FreezableDisk.mount(join(folder, `${first.name}.disk`), join(folder, first.name)));
      }
      return make(source, addresses, plan);
    });
    // A server that writes to a frozen disk cannot be killed.
    resources.defer(async () => disk?.thaw());
    const [first] = servers;
    if (first !== undefined && options.auth !== undefined) await enableAuth(first, options.auth);
    return servers;
  });
  return { cluster, links, disk };
}

function make(source: ServerSource, addresses: readonly Addresses[], plan: ClusterPlan): readonly ServerProcess[] {
  const { auth, certificates: tls } = plan;
  return addresses.map((self) => {
    const instance = source.instance(instancePlan(self, addresses, plan));
    return new ServerProcess({ url: self.client, instance, kind: etcdKind, auth, tls });
  });
}
