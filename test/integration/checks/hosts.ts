/** The stores that checks use, and an operator's access to their keys. */

import assert from 'node:assert/strict';
import {
  fourLetterWord,
  startConsul,
  startConsulCluster,
  startEtcd,
  startEtcdCluster,
  startPostgres,
  startZookeeper,
  startRedis,
  startZookeeperCluster,
  type Cluster,
  type ConsulCluster,
  type OwnServer,
  type StoreService,
} from '@incumbent/test-support';

export interface Host {
  readonly store: 'consul' | 'etcd' | 'kubernetes' | 'postgres' | 'redis' | 'zookeeper';
  /** The prefix of the names of its checks. */
  readonly prefix: string;
  /** How the operator deletes a key, in words. */
  readonly deletes: string;
  start(): Promise<OwnServer>;
  /** Whether there is a key with this prefix. */
  hasKey(server: StoreService, prefix: string): Promise<boolean>;
  deleteKey(server: StoreService, key: string): Promise<void>;
}

/** A store with several servers. */
export interface ClusterHost<T extends Cluster = Cluster> extends Host {
  /** What the setup contains besides its servers, in a sentence. */
  readonly stage?: string;
  startCluster(): Promise<T>;
  /** The endpoints that members use, in turn. Default: all servers. */
  waysTo?(cluster: T): readonly (readonly string[])[];
}

export const consulHost: ClusterHost<ConsulCluster> = {
  store: 'consul',
  prefix: 'consul-',
  deletes: '`consul kv delete`',
  start: () => startConsul(),
  stage: 'Three agents besides the servers, of which each process has its own in turn. ',
  startCluster: () => startConsulCluster({ size: 3, agents: 3 }),
  waysTo: ({ agents }) => agents.map(({ url }) => [url]),
  // On Consul, a comma stands for each `~` of a key.
  hasKey: async ({ url }, prefix) => (await fetch(new URL(`/v1/kv/${prefix.replaceAll('~', ',')}?keys`, url))).ok,
  deleteKey: async (server, key) => {
    assert.match(await server.ctl(['kv', 'delete', key.replaceAll('~', ',')]), /Success/);
  },
};

export const etcdHost: ClusterHost = {
  store: 'etcd',
  prefix: '',
  deletes: '`etcdctl del`',
  start: () => startEtcd(),
  startCluster: () => startEtcdCluster({ size: 3 }),
  hasKey: async (server, prefix) => (await server.ctl(['get', '--prefix', '--keys-only', prefix])).includes(prefix),
  deleteKey: async (server, key) => {
    assert.match(await server.ctl(['del', key]), /^1/, 'etcdctl deleted one key');
  },
};

export const zookeeperHost: ClusterHost = {
  store: 'zookeeper',
  prefix: 'zookeeper-',
  deletes: "zkCli's `delete`",
  start: () => startZookeeper(),
  startCluster: () => startZookeeperCluster({ size: 3 }),
  // Asks the server for the nodes of its sessions, because starting zkCli takes a second.
  hasKey: async (server, prefix) => (await fourLetterWord(server, 'dump')).includes(`/${prefix}`),
  deleteKey: async (server, key) => void (await server.ctl(['delete', `/${key}`])),
};

export const redisHost: Host = {
  store: 'redis',
  prefix: 'redis-',
  deletes: "redis-cli's `DEL`",
  start: () => startRedis(),
  hasKey: async (server, prefix) => (await server.ctl(['--scan', '--pattern', `${place(prefix)}*`])).trim() !== '',
  deleteKey: async (server, key) => {
    assert.match(await server.ctl(['DEL', place(key)]), /^1/, 'redis-cli deleted one key');
  },
};

export const postgresHost: Host = {
  store: 'postgres',
  prefix: 'postgres-',
  deletes: '`DELETE` by psql',
  start: () => startPostgres(),
  hasKey: async (server, prefix) => {
    const { namespace, key } = parts(prefix);
    return (await server.ctl(['-c', `SELECT key FROM incumbent.keys WHERE ${keysOf(namespace)} AND starts_with(key, '${key}')`])) !== '';
  },
  deleteKey: async (server, path) => {
    const { namespace, key } = parts(path);
    const deleted = await server.ctl(['-c', `DELETE FROM incumbent.keys WHERE ${keysOf(namespace)} AND key = '${key}' RETURNING key`]);
    assert.equal(deleted.trim(), key, 'psql deleted one key');
  },
};

/** The condition for the keys of a namespace, whose name needs no escapes. */
export function keysOf(namespace: string): string {
  return `namespace = (SELECT id FROM incumbent.namespaces WHERE name = '${namespace}')`;
}

/** `my-app/elections/…` is the key `elections/…` of the namespace `my-app`. */
function parts(path: string): { readonly namespace: string; readonly key: string } {
  const [namespace = '', ...rest] = path.split('/');
  return { namespace, key: rest.join('/') };
}

/** The Redis form of a key: `my-app/elections/…` is stored as `{my-app}/elections/…`. */
function place(key: string): string {
  return key.replace(/^[^/]+/, '{$&}');
}
