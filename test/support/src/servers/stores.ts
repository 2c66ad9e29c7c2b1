import type { Setting } from '../settings.ts';
import { startConsul } from './consul/cluster.ts';
import { externalConsul } from './consul/external.ts';
import { consulSource } from './consul/source.ts';
import { startEtcd } from './etcd/cluster.ts';
import { externalEtcd } from './etcd/external.ts';
import { etcdSource } from './etcd/source.ts';
import { externalKubernetes } from './kubernetes/external.ts';
import { startKubernetes } from './kubernetes/server.ts';
import { kubernetesSource } from './kubernetes/source.ts';
import { externalPostgres } from './postgres/external.ts';
import { startPostgres } from './postgres/server.ts';
import { postgresSource } from './postgres/source.ts';
import { externalRedis } from './redis/external.ts';
import { startRedis } from './redis/server.ts';
import { redisSource } from './redis/source.ts';
import type { ServerSource } from './server-source.ts';
import type { OwnServer, StoreName, StoreService, StoreVersion } from './types.ts';
import { startZookeeper } from './zookeeper/cluster.ts';
import { externalZookeeper } from './zookeeper/external.ts';
import { zookeeperSource } from './zookeeper/source.ts';

/** How a store's servers are found and started. */
export interface StoreSupport {
  /** The environment variable with the address of an external one. */
  readonly address: Setting;
  external(url: string): Promise<StoreService>;
  /** Throws `StoreUnavailable` if there are no servers. So does `start`. */
  source(version: StoreVersion): Promise<ServerSource>;
  start(options: { readonly version: StoreVersion }): Promise<OwnServer>;
}

export const stores: Readonly<Record<StoreName, StoreSupport>> = {
  consul: { address: 'INCUMBENT_TEST_CONSUL', external: externalConsul, source: consulSource, start: () => startConsul() },
  etcd: { address: 'INCUMBENT_TEST_ETCD', external: externalEtcd, source: etcdSource, start: startEtcd },
  kubernetes: {
    address: 'INCUMBENT_TEST_KUBERNETES',
    external: externalKubernetes,
    source: kubernetesSource,
    start: () => startKubernetes(),
  },
  postgres: { address: 'INCUMBENT_TEST_POSTGRES', external: externalPostgres, source: postgresSource, start: startPostgres },
  redis: { address: 'INCUMBENT_TEST_REDIS', external: externalRedis, source: redisSource, start: startRedis },
  zookeeper: { address: 'INCUMBENT_TEST_ZOOKEEPER', external: externalZookeeper, source: zookeeperSource, start: startZookeeper },
};
