/** Stores with servers: three of them, but for Redis, which has one. */

import {
  startConsulCluster,
  startEtcdCluster,
  startProxy,
  startRedis,
  startZookeeperCluster,
  type Cluster,
  type OwnServer,
} from '@incumbent/test-support';
import { consulHost, etcdHost, redisHost, zookeeperHost, type Host } from '../../integration/checks/hosts.ts';
import { NAMESPACE, RECORD } from '../names.ts';
import { holdersEntry } from './operator.ts';
import type { Site, SiteOptions, Way } from './site.ts';

interface Parts extends Pick<Site, 'servers' | 'leader' | 'mayEndEarly'>, Partial<Pick<Site, 'partition'>> {
  readonly host: Host;
  readonly service: Cluster | OwnServer;
  /** Which servers a member is given: all by default. */
  readonly endpointsOf?: (member: number) => readonly string[];
}

export async function openEtcdSite({ version }: SiteOptions): Promise<Site> {
  const service = await startEtcdCluster({ version, gated: true });
  return site({ ...clusterParts(service), host: etcdHost, partition: service, mayEndEarly: true });
}

export async function openZookeeperSite({ version }: SiteOptions): Promise<Site> {
  const service = await startZookeeperCluster({ version });
  return site({ ...clusterParts(service), host: zookeeperHost, partition: service, mayEndEarly: true });
}

/** A process has one agent: the servers take turns. */
export async function openConsulSite(): Promise<Site> {
  const service = await startConsulCluster();
  const endpointsOf = (member: number): readonly string[] => [service.endpoints[member % service.endpoints.length] ?? service.url];
  return site({ ...clusterParts(service), host: consulHost, endpointsOf, mayEndEarly: true });
}

/** Where it keeps what it has acknowledged, nothing that is said of other Redises excuses it. */
export async function openRedisSite({ version, forgets }: SiteOptions): Promise<Site> {
  const service = await startRedis({ version, persistent: !forgets });
  return site({
    host: redisHost,
    service,
    servers: [service],
    leader: async () => 0,
    mayEndEarly: forgets,
  });
}

function clusterParts(service: Cluster): Pick<Parts, 'service' | 'servers' | 'leader'> {
  return { service, servers: service.servers, leader: () => service.leader() };
}

function site({ host, service, endpointsOf = () => service.endpoints, ...parts }: Parts): Site {
  const opened: Way[] = [];
  const url = (endpoints: readonly string[]): string =>
    `${host.store}://${endpoints.map((one) => new URL(one).host).join(',')}/${NAMESPACE}`;
  const ownUrl = url(service.endpoints.slice(0, host.store === 'consul' ? 1 : undefined));
  return {
    ...parts,
    store: host.store,
    version: service.version,
    url: ownUrl,
    serverUrls: service.endpoints.map((endpoint) => url([endpoint])),
    async openWay(member) {
      const proxies = await Promise.all(endpointsOf(member).map((endpoint) => startProxy(endpoint)));
      const way = { url: url(proxies.map((proxy) => proxy.url)), proxies };
      opened.push(way);
      return way;
    },
    deleteRecord: () => host.deleteKey(service, RECORD),
    deleteEntry: async () => host.deleteKey(service, await holdersEntry(ownUrl)),
    async [Symbol.asyncDispose]() {
      await Promise.all(opened.flatMap(({ proxies }) => proxies.map((proxy) => proxy.close())));
      await service.stop();
    },
  };
}
