import { setting } from '../settings.ts';
import { askBroker, hasBroker } from './broker/client.ts';
import { stores } from './stores.ts';
import type { StoreName, StoreService, StoreVersion, VersionOptions } from './types.ts';

const shared = new Map<string, Promise<StoreService>>();

/**
 * An etcd that many tests use at the same time, so each must use a namespace of its own and must
 * not damage it. It is the one at `INCUMBENT_TEST_ETCD`, otherwise one for the whole run if the run
 * uses `setup.ts`, otherwise one for this process. It starts when it is first requested. Throws
 * `StoreUnavailable` if there is none.
 */
export function sharedEtcd(options: VersionOptions = {}): Promise<StoreService> {
  return sharedStore('etcd', options);
}

/** The same for Consul, with `INCUMBENT_TEST_CONSUL`. */
export function sharedConsul(options: VersionOptions = {}): Promise<StoreService> {
  return sharedStore('consul', options);
}

/** The same for PostgreSQL, with `INCUMBENT_TEST_POSTGRES`. */
export function sharedPostgres(options: VersionOptions = {}): Promise<StoreService> {
  return sharedStore('postgres', options);
}

/** The same for Redis, with `INCUMBENT_TEST_REDIS`. */
export function sharedRedis(options: VersionOptions = {}): Promise<StoreService> {
  return sharedStore('redis', options);
}

/** The same for ZooKeeper, with `INCUMBENT_TEST_ZOOKEEPER`. */
export function sharedZookeeper(options: VersionOptions = {}): Promise<StoreService> {
  return sharedStore('zookeeper', options);
}

function sharedStore(store: StoreName, { version = 'default' }: VersionOptions): Promise<StoreService> {
  const key = `${store} ${version}`;
  const known = shared.get(key) ?? find(store, version);
  shared.set(key, known);
  return known;
}

function find(store: StoreName, version: StoreVersion): Promise<StoreService> {
  const { address, external, start } = stores[store];
  const given = setting(address);
  if (given !== undefined && version === 'default') return external(given);
  return hasBroker() ? brokered(store, version) : start({ version });
}

async function brokered(store: StoreName, version: StoreVersion): Promise<StoreService> {
  const { url, version: exact } = await askBroker({ store, version });
  return {
    url,
    endpoints: [url],
    version: exact,
    ctl: async (args) => (await askBroker({ store, version, ctl: args })).output,
  };
}
