/**
 * Opens a store by its URL. Each adapter is a package of its own, which is loaded when its scheme
 * is first used.
 */

import { setTimeout } from 'node:timers/promises';
import { IncumbentError, isRetryable, type Store } from '@incumbent/core';
import {
  checkFunction,
  checkKnown,
  checkNumber,
  checkSignal,
  checkStore,
  describeStore,
  invalidSecret,
  isRedisClient,
  isUrl,
  showUrl,
  urlText,
} from '@incumbent/core/adapter';

import { waitPrinter } from './warnings.ts';

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

const postgres: Adapter = {
  package: '@incumbent/postgres',
  open: async (url) => (await import('@incumbent/postgres')).openPostgres(url),
};

const kubernetes: Adapter = {
  package: '@incumbent/kubernetes',
  open: async (url) => (await import('@incumbent/kubernetes')).openKubernetes(url),
};

const redis: Adapter = { package: '@incumbent/redis', open: async (url) => (await import('@incumbent/redis')).openRedis(url) };

const adapters: ReadonlyMap<string, Adapter> = new Map([
  ['consul', consul],
  ['consuls', consul],
  ['etcd', etcd],
  ['etcds', etcd],
  ['kubernetes', kubernetes],
  ['memory', memory],
  ['postgres', postgres],
  ['postgresql', postgres],
  ['redis', redis],
  ['rediss', redis],
  ['redis+sentinel', redis],
  ['rediss+sentinel', redis],
  ['sqlite', sqlite],
  ['valkey', redis],
  ['valkeys', redis],
  ['valkey+sentinel', redis],
  ['valkeys+sentinel', redis],
  ['zookeeper', zookeeper],
  ['zookeepers', zookeeper],
]);

/**
 * Opens a store, such as `() => openRedis({ client })`. Called again for each attempt. Whoever gets
 * the function closes the store that it opens.
 */
export type StoreOpener = () => Promise<Store>;

/** The options of {@link openStore}. */
export interface OpenStoreOptions {
  /**
   * How long to try again while the store cannot be reached or cannot serve, in ms. From 0 to
   * Infinity. Default 0: the first failure rejects. With `INCUMBENT_DEBUG=1` or
   * `NODE_DEBUG=incumbent` in the environment, a line on standard error says so every few seconds.
   */
  readonly waitMs?: number | undefined;
  /** Aborts the wait. An attempt under way goes on until it has an answer. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the error of each attempt that is followed by another. */
  readonly onRetry?: ((error: unknown) => void) | undefined;
}

/** The first pause between two attempts, in ms. It doubles with each further one. */
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5_000;

/**
 * Opens the store that the URL names, and loads its adapter:
 *
 * - `etcd://host:2379,host2:2379/my-app`, `zookeeper://host:2181/my-app`,
 *   `consul://:token@host:8500/my-app`, `redis://user:password@host/my-app`, `valkey://…`; with an
 *   `s` for TLS (`etcds:`, `rediss:`, …);
 * - `redis+sentinel://user:password@sentinel1,sentinel2/my-app?master=mymaster`;
 * - `postgres://user:password@host/database?namespace=my-app`; with `sslmode=verify-full` for TLS;
 * - `kubernetes:` in a pod, `kubernetes://context/namespace/prefix` outside;
 * - `sqlite:./state.db` for the processes of one host;
 * - `memory:` for tests and trials.
 *
 * Or opens the store by a function that calls the adapter, for options that no URL has:
 * `openStore(() => openRedis({ client }), { waitMs: 30_000 })`.
 *
 * In a user and a password, write `@` as `%40`, `/` as `%2F`, `?` as `%3F`, `#` as `%23` and `%` as
 * `%25`.
 *
 * @throws `UNKNOWN_SCHEME`; `ADAPTER_MISSING`, with the package to install; `INVALID_OPTION`; the
 *   signal's reason; and every error of the adapter's own `open…` function, the last one after
 *   `waitMs`.
 */
export async function openStore(url: string | URL | StoreOpener, options: OpenStoreOptions = {}): Promise<Store> {
  if (!isUrl(url) && !isOpener(url)) throw invalidSecret('url', url, SOURCES, describeStore(url));
  checkKnown('openStore', options, ['waitMs', 'signal', 'onRetry']);
  const { waitMs, signal, onRetry = () => {} } = options;
  if (signal !== undefined) checkSignal({ signal });
  const startedAt = performance.now();
  const endsAt = startedAt + checkNumber('waitMs', waitMs, 0, { min: 0, max: Infinity });
  checkFunction('onRetry', onRetry);
  const printWait = waitPrinter(isUrl(url) ? showUrl(urlText(url)) : undefined);
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    signal?.throwIfAborted();
    try {
      return await (isUrl(url) ? openText(urlText(url)) : openBy(url));
    } catch (error) {
      const leftMs = endsAt - performance.now();
      if (!isRetryable(error) || leftMs <= 0) throw error;
      printWait(error, performance.now() - startedAt);
      onRetry(error);
      // Between 50 % and 100 %, so that processes that start together do not try together.
      await sleep(Math.min(pauseMs * (1 - Math.random() / 2), leftMs), signal);
    }
  }
}

/** @internal What `openStore` opens, for an error. */
export const SOURCES = 'a URL, or a function that opens a store, such as () => openRedis({ client })';

/** @internal True for a function that opens a store. Some clients of Redis are functions, too. */
export function isOpener(source: unknown): source is StoreOpener {
  return typeof source === 'function' && !isRedisClient(source);
}

async function openBy(open: StoreOpener): Promise<Store> {
  const store = await open();
  checkStore(store);
  return store;
}

async function sleep(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  await setTimeout(delayMs, undefined, signal === undefined ? {} : { signal }).catch(() => {});
}

async function openText(url: string): Promise<Store> {
  const scheme = /^([a-z][a-z0-9+.-]*):/.exec(url)?.[1];
  const adapter = adapters.get(scheme ?? '');
  if (adapter !== undefined) return load(adapter, url);
  const schemes = [...adapters.keys()].map((known) => `${known}:`).join(', ');
  // Text before a colon without `//` may be a user or a token, so it is not shown.
  const unknown = /^([a-z][a-z0-9+.-]*):\/\//.exec(url)?.[1];
  const what = unknown === undefined ? 'that begins with no scheme it knows' : `of the scheme "${unknown}:"`;
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
