/** What a store is opened with, checked: a URL or an object, turned into settings. */

import type { Clock } from '@incumbent/core';
import {
  checkFunction,
  checkKnown,
  checkNumber,
  checkPath,
  invalidOption,
  invalidSecret,
  showUrl,
  systemClock,
} from '@incumbent/core/adapter';
import {
  accessOf,
  checkTls,
  type Connect,
  connectSocket,
  type Endpoint,
  parseEndpoints,
  StoreUrl,
  type StoreUrlShape,
  type TlsOptions,
} from '@incumbent/network';

import type { Credentials } from './client/greeting.ts';

export interface RedisOptions {
  /**
   * A server, as `host` or `host:port`, and its replicas, or the servers of a cluster; the port is 6379 if left out. The one that takes the namespace's
   * writes is used.
   */
  readonly endpoints: readonly string[];
  /** What all keys of this store stand under: names of `A-Z a-z 0-9 . _ ~ -`, separated by `/`. Default `incumbent`. */
  readonly namespace?: string;
  /** The number of the database: 0 to 65,535. Default 0. */
  readonly db?: number;
  /** How long opening may take, in ms: 100 to 600,000. Default 5,000. */
  readonly connectTimeoutMs?: number;
  /** Present: connect by TLS. */
  readonly tls?: TlsOptions;
  /** A user of Redis's own, or a password alone. */
  readonly credentials?: Credentials;
  /**
   * Opens the byte stream to a server in place of TCP or TLS, whenever there is none: for tunnels, for tests, and to find the server of the day, as by
   * Sentinel or from a cluster's slots.
   */
  readonly connect?: Connect;
  /** For tests. */
  readonly clock?: Clock;
}

export interface RedisSettings {
  readonly endpoints: readonly Endpoint[];
  readonly namespace: string;
  readonly db: number;
  readonly connectTimeoutMs: number;
  readonly credentials: Credentials | undefined;
  readonly connect: Connect;
  readonly clock: Clock;
  /** The options, for another process; undefined where it cannot be given them. */
  readonly access: string | undefined;
}

const DEFAULT_PORT = 6379;

const known = ['endpoints', 'namespace', 'db', 'connectTimeoutMs', 'tls', 'credentials', 'connect', 'clock'];

/** Rejects with a `TypeError` or `RangeError` (`INVALID_OPTION`), or with what reading a certificate that a URL names ran into. */
export async function readOptions(input: string | RedisOptions): Promise<RedisSettings> {
  return settingsOf(typeof input === 'string' ? await readUrl(input) : input);
}

function settingsOf(options: RedisOptions): RedisSettings {
  if (typeof options !== 'object' || options === null) throw invalidSecret('redis', options, 'a URL or an object of options');
  checkKnown('redis', options, known);
  const { tls, connect, clock = systemClock } = options;
  if (tls !== undefined) checkTls(tls);
  if (connect !== undefined) checkFunction('connect', connect);
  const db = checkNumber('db', options.db, 0, { min: 0, max: 65_535 });
  if (!Number.isInteger(db)) throw invalidOption('db', db, 'an integer');
  return {
    endpoints: parseEndpoints(options.endpoints, DEFAULT_PORT),
    namespace: checkPath('namespace', options.namespace ?? 'incumbent'),
    db,
    connectTimeoutMs: checkNumber('connectTimeoutMs', options.connectTimeoutMs, 5_000, { min: 100, max: 600_000 }),
    credentials: credentialsOf(options.credentials),
    connect: connect ?? ((endpoint, signal) => connectSocket(endpoint, { tls }, signal)),
    clock,
    access: accessOf(options),
  };
}

function credentialsOf(credentials: Credentials | undefined): Credentials | undefined {
  if (credentials === undefined) return undefined;
  checkKnown('credentials', credentials, ['username', 'password']);
  const { username, password } = credentials;
  if (username !== undefined && (typeof username !== 'string' || username === ''))
    throw invalidSecret('credentials.username', username, 'a name, or left out');
  if (typeof password !== 'string') throw invalidSecret('credentials.password', password, 'a string');
  return credentials;
}

/**
 * `redis://user:password@host1:6379,host2:6379/namespace?db=0&connectTimeoutMs=5000`; `rediss://` for TLS; `valkey://` and `valkeys://` say the same.
 */
const SHAPE: StoreUrlShape = {
  schemes: ['redis', 'valkey'],
  secureSchemes: ['rediss', 'valkeys'],
  parameters: ['connectTimeoutMs', 'db'],
  example: 'redis://host:port/namespace, or rediss:// for TLS',
};

/** Rejects where a file that the parameters `ca`, `cert` and `key` name cannot be read. */
export async function readUrl(text: string): Promise<RedisOptions> {
  const url = new StoreUrl(text, SHAPE);
  const connectTimeoutMs = url.number('connectTimeoutMs');
  const db = url.number('db');
  const credentials = credentialsIn(url, text);
  const tls = url.tls();
  return {
    endpoints: url.hosts,
    ...(url.namespace === '' ? {} : { namespace: url.namespace }),
    ...(db === undefined ? {} : { db }),
    ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
    ...(credentials === undefined ? {} : { credentials }),
    ...(tls === undefined ? {} : { tls }),
  };
}

/** `user:password`, or `:password` for servers that merely have one. */
function credentialsIn({ user }: StoreUrl, text: string): Credentials | undefined {
  if (user === undefined) return undefined;
  const { name, password } = user;
  if (password === undefined)
    throw invalidSecret('url', text, 'given a user as user:password, or a password alone as :password', showUrl(text));
  return name === '' ? { password } : { username: name, password };
}
