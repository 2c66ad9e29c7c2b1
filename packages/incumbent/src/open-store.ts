/**
 * Opens a store by its URL. Each adapter is a package of its own, which is loaded when its scheme
 * is first used.
 */

import { IncumbentError, type Store } from '@incumbent/core';
import { invalidSecret, isUrl, showUrl, urlText } from '@incumbent/core/adapter';

interface Adapter {
  readonly package: string;
  readonly open: (url: string) => Promise<Store>;
}

const consul: Adapter = { package: '@incumbent/consul', open: async (url) => (await import('@incumbent/consul')).openConsul(url) };
const etcd: Adapter = { package: '@incumbent/etcd', open: async (url) => (await import('@incumbent/etcd')).openEtcd(url) };
const sqlite: Adapter = { package: '@incumbent/sqlite', open: async (url) => (await import('@incumbent/sqlite')).openSqlite(url) };
const memory: Adapter = { package: '@incumbent/memory', open: async (url) => (await import('@incumbent/memory')).openMemory(url) };

const zookeeper: Adapter = {
  package: '@incumbent/zookeeper',
  open: async (url) => (await import('@incumbent/zookeeper')).openZookeeper(url),
};

const redis: Adapter = { package: '@incumbent/redis', open: async (url) => (await import('@incumbent/redis')).openRedis(url) };

const adapters: ReadonlyMap<string, Adapter> = new Map([
  ['consul', consul],
  ['consuls', consul],
  ['etcd', etcd],
  ['etcds', etcd],
  ['memory', memory],
  ['redis', redis],
  ['rediss', redis],
  ['sqlite', sqlite],
  ['valkey', redis],
  ['valkeys', redis],
  ['zookeeper', zookeeper],
  ['zookeepers', zookeeper],
]);

/**
 * Opens the store that the URL names, and loads its adapter:
 *
 * - `etcd://host:2379,host2:2379/my-app`, `zookeeper://host:2181/my-app`,
 *   `consul://:token@host:8500/my-app`, `redis://user:password@host/my-app`, `valkey://…`; with an
 *   `s` for TLS (`etcds:`, `rediss:`, …);
 * - `sqlite:./state.db` for the processes of one host;
 * - `memory:` for tests and trials.
 *
 * In a user and a password, write `@` as `%40`, `/` as `%2F`, `?` as `%3F`, `#` as `%23` and `%` as
 * `%25`.
 *
 * @throws `UNKNOWN_SCHEME`; `ADAPTER_MISSING`, with the package to install; and every error of the
 *   adapter's own `open…` function.
 */
export async function openStore(url: string | URL): Promise<Store> {
  if (!isUrl(url)) throw invalidSecret('url', url, 'a string or a URL');
  return openText(urlText(url));
}

async function openText(url: string): Promise<Store> {
  const scheme = /^([a-z][a-z0-9+.-]*):/.exec(url)?.[1];
  const adapter = adapters.get(scheme ?? '');
  if (adapter !== undefined) return load(adapter, url);
  const schemes = [...adapters.keys()].map((known) => `${known}:`).join(', ');
  // Text before a colon without `//` may be a user or a token, so it is not shown.
  const unknown = /^([a-z][a-z0-9+.-]*):\/\//.exec(url)?.[1];
  const what = unknown === undefined ? 'without a scheme' : `of the scheme "${unknown}:"`;
  throw new IncumbentError('UNKNOWN_SCHEME', `openStore was given a URL ${what}, ${showUrl(url)}: it knows ${schemes}`, {
    details: { scheme: unknown, known: [...adapters.keys()] },
  });
}

async function load(adapter: Adapter, url: string): Promise<Store> {
  try {
    return await adapter.open(url);
  } catch (error) {
    if (!isMissing(error, adapter.package)) throw error;
    const message = `this store needs the package ${adapter.package}: npm install ${adapter.package}`;
    throw new IncumbentError('ADAPTER_MISSING', message, { cause: error, details: { package: adapter.package } });
  }
}

/** Whether the adapter itself was not found, and not a module that it imports. */
function isMissing(error: unknown, name: string): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return (error.code === 'ERR_MODULE_NOT_FOUND' || error.code === 'MODULE_NOT_FOUND') && error.message.includes(`'${name}'`);
}
