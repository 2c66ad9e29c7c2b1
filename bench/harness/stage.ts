/** A store's server, and its addresses for contestants. */

import { join } from 'node:path';
import { makeScratch, startConsul, startEtcd, startPostgres, startRedis, startZookeeper, type OwnServer } from '@incumbent/test-support';
import { startKubernetesHost } from '../../test/integration/checks/kubernetes-host.ts';
import { storeUrl } from '../../test/integration/checks/pair.ts';
import { kubernetesRequests, requestsOf } from './requests.ts';

export const STORES = ['etcd', 'zookeeper', 'consul', 'postgres', 'redis', 'kubernetes', 'sqlite', 'memory'] as const;

export type StoreName = (typeof STORES)[number];

export function isStore(name: string): name is StoreName {
  return STORES.some((store) => store === name);
}

/** One server, for all contestants of its store. */
export interface Stage extends AsyncDisposable {
  readonly store: StoreName;
  /** The address of the server itself: `http://127.0.0.1:2379`. Empty if there is no server. */
  readonly url: string;
  /** The store and its version: `etcd 3.4.23`. */
  readonly version: string;
  /** The URL for `openStore` in a namespace. */
  storeUrl(namespace: string, url?: string): string;
  /**
   * The number of requests that the server has received since it started. Undefined if it does not
   * count. `commands`: commands to count on Redis in addition to scripts.
   */
  requests(commands?: readonly string[]): Promise<number | undefined>;
  readonly server: OwnServer | undefined;
}

let namespaces = 0;

/** A namespace that has not been used. */
export function freshNamespace(): string {
  namespaces += 1;
  return `bench-${process.pid}-${namespaces}`;
}

const starts = {
  etcd: () => startEtcd(),
  // A session is a connection, and there are thousands. Ten minutes exceed the default limit.
  zookeeper: () => startZookeeper({ heapMb: 2_048, settings: ['maxSessionTimeout=600000'] }),
  // Counts requests from its start. All processes here have one address, from which it accepts only
  // 200 connections by default.
  consul: () =>
    startConsul({ settings: { telemetry: { prometheus_retention_time: '24h' }, limits: { http_max_conns_per_client: 2_000 } } }),
  // Counts statements.
  postgres: async () => {
    const server = await startPostgres({ settings: { shared_preload_libraries: 'pg_stat_statements' } });
    await server.ctl(['-c', 'create extension pg_stat_statements']);
    return server;
  },
  redis: () => startRedis(),
};

export async function openStage(store: StoreName): Promise<Stage> {
  switch (store) {
    case 'etcd':
    case 'zookeeper':
    case 'consul':
    case 'postgres':
    case 'redis': {
      const server = await starts[store]();
      return serverStage(store, server, (commands) => requestsOf(store, server, commands));
    }
    case 'kubernetes': {
      const server = await startKubernetesHost();
      return serverStage(store, server, () => kubernetesRequests(server));
    }
    case 'sqlite': {
      const folder = await makeScratch('bench');
      return {
        ...noServer(store, `SQLite ${process.versions['sqlite'] ?? ''}`),
        storeUrl: (namespace) => `sqlite:${join(folder.path, `${namespace}.db`)}`,
        [Symbol.asyncDispose]: () => folder.remove(),
      };
    }
    case 'memory':
      return { ...noServer(store, 'memory'), storeUrl: () => 'memory:', [Symbol.asyncDispose]: async () => {} };
    default:
      return store satisfies never;
  }
}

function noServer(store: StoreName, version: string): Pick<Stage, 'store' | 'url' | 'version' | 'requests' | 'server'> {
  return { store, url: '', version, requests: async () => undefined, server: undefined };
}

function serverStage(store: Exclude<StoreName, 'sqlite' | 'memory'>, server: OwnServer, requests: Stage['requests']): Stage {
  return {
    store,
    url: server.url,
    version: `${NAMES[store]} ${server.version}`,
    storeUrl: (namespace, url = server.url) => storeUrl([url], namespace, store),
    requests,
    server,
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

const NAMES = {
  etcd: 'etcd',
  zookeeper: 'ZooKeeper',
  consul: 'Consul',
  postgres: 'PostgreSQL',
  redis: 'Redis',
  kubernetes: 'Kubernetes',
};
