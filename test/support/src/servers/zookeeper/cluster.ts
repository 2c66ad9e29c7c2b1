import { makeCertificates } from '../certificates.ts';
import { ServerProcess } from '../process.ts';
import type { ServerProcesses } from '../processes.ts';
import type { ServerSource } from '../server-source.ts';
import { onlyServer, startCluster, startServers } from '../start.ts';
import { writeLogging } from './flags.ts';
import { makeKeystores } from './keystores.ts';
import { zookeeperKind } from './kind.ts';
import { instancePlan } from './launch.ts';
import { QuorumLinks } from './links.ts';
import { pickPorts, urlOf, type ClusterPlan, type ServerPlan } from './plan.ts';
import { zookeeperSource } from './source.ts';
import type { ZookeeperCluster, ZookeeperOptions, ZookeeperServer } from './types.ts';

export interface ZookeeperClusterOptions extends ZookeeperOptions {
  /** The number of servers. Default 3. */
  readonly size?: number;
}

/**
 * Starts a ZooKeeper of one server for this process alone. Resolves when it serves requests. Throws
 * `StoreUnavailable` if ZooKeeper is not available.
 */
export async function startZookeeper(options: ZookeeperOptions = {}): Promise<ZookeeperServer> {
  const { cluster } = await start(1, options);
  return onlyServer(cluster);
}

/**
 * Starts a ZooKeeper of several servers for this process alone. Resolves when all serve requests.
 * Throws `StoreUnavailable` if ZooKeeper is not available.
 */
export async function startZookeeperCluster({ size = 3, ...options }: ZookeeperClusterOptions = {}): Promise<ZookeeperCluster> {
  const { cluster, links } = await start(size, options);
  return Object.assign(cluster, {
    cut: (one: number, other: number) => links.cut(one, other),
    cutOff: (server: number) => links.cutOff(server),
    slow: (server: number, ms: number) => links.slow(server, ms),
    heal: () => links.heal(),
  });
}

interface Started {
  readonly cluster: ServerProcesses;
  readonly links: QuorumLinks;
}

async function start(size: number, { version = 'default', ...options }: ZookeeperOptions): Promise<Started> {
  const source = await zookeeperSource(version);
  let links = QuorumLinks.NONE;
  const cluster = await startCluster('zookeeper', async (premises) => {
    const { folder, resources } = premises;
    await writeLogging(folder);
    const certificates = options.tls === undefined ? undefined : await makeCertificates(folder, 'client');
    const keystores = certificates === undefined ? undefined : await makeKeystores(folder, certificates);
    const plan = { ...options, folder, certificates, keystores };
    return startServers(premises, async () => {
      const all = await pickPorts(size);
      if (size > 1) links = resources.use(await QuorumLinks.open(all));
      return make(source, all, plan, links);
    });
  });
  return { cluster, links };
}

function make(source: ServerSource, all: readonly ServerPlan[], plan: ClusterPlan, links: QuorumLinks): Promise<readonly ServerProcess[]> {
  const { superPassword, certificates: tls, ...witness } = plan;
  const auth = superPassword === undefined ? undefined : { user: 'super', password: superPassword };
  const kind = zookeeperKind(witness);
  return Promise.all(
    all.map(async (self, index) => {
      const instance = source.instance(await instancePlan(self, all, plan, links.gateOf(index)));
      return new ServerProcess({ url: urlOf(self, plan), instance, kind, auth, tls });
    }),
  );
}
