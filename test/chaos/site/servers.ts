/** Stores with servers: three of each, except Kubernetes, PostgreSQL and Redis, which have one. */

import {
  Balancer,
  findFreezableDisk,
  startConsulCluster,
  startEtcdCluster,
  startPostgres,
  startProxy,
  startRedis,
  startZookeeperCluster,
  type Cluster,
  type OwnServer,
} from '@incumbent/test-support';
import { consulHost, etcdHost, postgresHost, redisHost, zookeeperHost, type Host } from '../../integration/checks/hosts.ts';
import { kubernetesHost } from '../../integration/checks/kubernetes-host.ts';
import { storeUrl } from '../../integration/checks/pair.ts';
import { NAMESPACE, RECORD } from '../names.ts';
import { holdersEntry } from './operator.ts';
import type { Site, SiteOptions } from './site.ts';

interface Parts extends Pick<Site, 'servers' | 'leader' | 'mayEndEarly'>, Partial<Pick<Site, 'partition' | 'disk'>> {
  readonly host: Host;
  readonly service: Cluster | OwnServer;
  /** The endpoints of a member. Default: all. */
  readonly endpointsOf?: (member: number) => readonly string[];
  /** Which members reach all servers through one address. Default: none. */
  readonly isBalanced?: (member: number) => boolean;
}

export async function openEtcdSite({ version, oneAddress, say }: SiteOptions): Promise<Site> {
  const freezable = await findFreezableDisk((error) => say(`no disk hangs in this run: ${String(error)}`));
  const service = await startEtcdCluster({ version, gated: true, freezable });
  const disk = { server: 0, freeze: () => service.freezeDisk(), thaw: () => service.thawDisk() };
  return site({
    ...clusterParts(service),
    host: etcdHost,
    partition: service,
    ...(freezable ? { disk } : {}),
    mayEndEarly: true,
    isBalanced: (member) => oneAddress && isEverySecond(member),
  });
}

export async function openZookeeperSite({ version, oneAddress }: SiteOptions): Promise<Site> {
  const service = await startZookeeperCluster({ version });
  return site({
    ...clusterParts(service),
    host: zookeeperHost,
    partition: service,
    mayEndEarly: true,
    isBalanced: (member) => oneAddress && isEverySecond(member),
  });
}

/** A process has one agent, so members are spread over the servers. */
export async function openConsulSite(): Promise<Site> {
  const service = await startConsulCluster();
  const endpointsOf = (member: number): readonly string[] => [service.endpoints[member % service.endpoints.length] ?? service.url];
  return site({ ...clusterParts(service), host: consulHost, endpointsOf, mayEndEarly: true });
}

export async function openKubernetesSite(): Promise<Site> {
  const service = await kubernetesHost.start();
  return site({ host: kubernetesHost, service, servers: [service], leader: async () => 0, mayEndEarly: false });
}

/** The wall clock of the server is not set, so it may not end leases early. */
export async function openPostgresSite({ version }: SiteOptions): Promise<Site> {
  const service = await startPostgres({ version });
  return site({ host: postgresHost, service, servers: [service], leader: async () => 0, mayEndEarly: false });
}

/** A Redis that keeps what it acknowledges may not end leases early, unlike others. */
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

function isEverySecond(member: number): boolean {
  return member % 2 === 1;
}

function clusterParts(service: Cluster): Pick<Parts, 'service' | 'servers' | 'leader'> {
  return { service, servers: service.servers, leader: () => service.leader() };
}

function site({ host, service, endpointsOf = () => service.endpoints, isBalanced = () => false, ...parts }: Parts): Site {
  const opened: AsyncDisposable[] = [];
  const url = (endpoints: readonly string[]): string => storeUrl(endpoints, NAMESPACE, host.store);
  const ownUrl = url(service.endpoints.slice(0, host.store === 'consul' ? 1 : undefined));
  return {
    ...parts,
    store: host.store,
    version: service.version,
    url: ownUrl,
    serverUrls: service.endpoints.map((endpoint) => url([endpoint])),
    async openWay(member) {
      const oneAddress = isBalanced(member);
      const balancer = oneAddress ? await Balancer.open(service.endpoints) : undefined;
      const endpoints = balancer === undefined ? endpointsOf(member) : [balancer.url];
      const proxies = await Promise.all(endpoints.map((endpoint) => startProxy(endpoint)));
      opened.push(...proxies, ...(balancer === undefined ? [] : [balancer]));
      return { url: url(proxies.map((proxy) => proxy.url)), proxies, oneAddress };
    },
    deleteRecord: () => host.deleteKey(service, RECORD),
    deleteEntry: async () => host.deleteKey(service, await holdersEntry(ownUrl)),
    async [Symbol.asyncDispose]() {
      await Promise.all(opened.map((one) => one[Symbol.asyncDispose]()));
      await service.stop();
    },
  };
}
