/** A store's server, and how contestants are told of it. */

import { join } from 'node:path';
import { makeScratch, startConsul, startEtcd, startRedis, startZookeeper, type OwnServer } from '@incumbent/test-support';
import { requestsOf } from './requests.ts';

export const STORES = ['etcd', 'zookeeper', 'consul', 'redis', 'sqlite', 'memory'] as const;

export type StoreName = (typeof STORES)[number];

export function isStore(name: string): name is StoreName {
  return STORES.some((store) => store === name);
}

/** One server, for all contestants of its store. */
export interface Stage extends AsyncDisposable {
  readonly store: StoreName;
  /** As the server itself is addressed: `http://127.0.0.1:2379`. Empty where there is none. */
  readonly url: string;
  /** In words: `etcd 3.4.23`. */
  readonly version: string;
  /** As `openStore` is told, in a namespace. */
  storeUrl(namespace: string, url?: string): string;
  /**
   * Everything that the server says it was asked since it started; undefined where it does not
   * count. `commands`: to be counted on Redis besides scripts.
   */
  requests(commands?: readonly string[]): Promise<number | undefined>;
  readonly server: OwnServer | undefined;
}

let namespaces = 0;

/** A namespace that nobody has used. */
export function freshNamespace(): string {
  namespaces += 1;
  return `bench-${process.pid}-${namespaces}`;
}

const starts = {
  etcd: () => startEtcd(),
  // A session is a connection, and there are thousands of them; ten minutes are more than it grants
  // by default.
  zookeeper: () => startZookeeper({ heapMb: 2_048, settings: ['maxSessionTimeout=600000'] }),
  // So that it counts requests from its start; and all processes here have one address, of which it
  // takes 200 connections by default.
  consul: () =>
    startConsul({ settings: { telemetry: { prometheus_retention_time: '24h' }, limits: { http_max_conns_per_client: 2_000 } } }),
  redis: () => startRedis(),
};

export async function openStage(store: StoreName): Promise<Stage> {
  switch (store) {
    case 'etcd':
    case 'zookeeper':
    case 'consul':
    case 'redis':
      return serverStage(store, await starts[store]());
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

function serverStage(store: Exclude<StoreName, 'sqlite' | 'memory'>, server: OwnServer): Stage {
  return {
    store,
    url: server.url,
    version: `${NAMES[store]} ${server.version}`,
    storeUrl: (namespace, url = server.url) => `${store}://${new URL(url).host}/${namespace}`,
    requests: (commands) => requestsOf(store, server, commands),
    server,
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

const NAMES = { etcd: 'etcd', zookeeper: 'ZooKeeper', consul: 'Consul', redis: 'Redis' };
