/** Reads and checks the options of a store, and its URL. */

import type { Clock } from '@incumbent/core';
import { checkKnown, checkNumber, invalidOption, invalidSecret, invalidText, isUrl, urlText } from '@incumbent/core/adapter';
import {
  type Connect,
  type Endpoint,
  given,
  parseEndpoints,
  readSharedOptions,
  type SharedSettings,
  StoreUrl,
  type StoreUrlShape,
  type TlsOptions,
} from '@incumbent/network';

import type { Credentials } from './client/greeting.ts';

/**
 * The options of a store on a Redis or Valkey server. `openRedis` checks them, and rejects with
 * `INVALID_OPTION`, also for an unknown option.
 */
export interface RedisOptions {
  /**
   * A server and its replicas, or the servers of a cluster, each as `host` or `host:port`. At least
   * one. The port is 6379 if left out. The store uses the server that accepts the namespace's
   * writes.
   */
  readonly endpoints: readonly string[];
  /**
   * The prefix of all keys: names of `A-Z a-z 0-9 . _ ~ -`, separated by `/`. Default `incumbent`.
   */
  readonly namespace?: string;
  /** The number of the database, an integer from 0 to 65,535. Default 0. */
  readonly db?: number;
  /** The longest time for opening, in ms: 100 to 600,000. Default 5,000. */
  readonly connectTimeoutMs?: number;
  /**
   * Connects by TLS if present; `{}` trusts the system's certificate authorities. Default: no TLS.
   */
  readonly tls?: TlsOptions;
  /** A user of Redis's own, or a password alone. Default: no login. */
  readonly credentials?: Credentials;
  /**
   * Opens the byte stream to a server, in place of TCP or TLS. The store calls it whenever it has
   * no connection: for a tunnel, or to find the current server by Sentinel or by a cluster's slots.
   */
  readonly connect?: Connect;
  /** For tests. Default: the system's clock. */
  readonly clock?: Clock;
}

/** The options with their defaults. */
export interface RedisSettings extends SharedSettings<Connect> {
  readonly endpoints: readonly Endpoint[];
  readonly db: number;
  readonly credentials: Credentials | undefined;
}

const DEFAULT_PORT = 6379;

const known = ['endpoints', 'namespace', 'db', 'connectTimeoutMs', 'tls', 'credentials', 'connect', 'clock'];

/**
 * Rejects with a `TypeError` or `RangeError` (`INVALID_OPTION`), or with the system's error for a
 * certificate file that cannot be read.
 */
export async function readOptions(input: string | URL | RedisOptions): Promise<RedisSettings> {
  return settingsOf(isUrl(input) ? await readUrl(urlText(input)) : input);
}

function settingsOf(options: RedisOptions): RedisSettings {
  const shared = readSharedOptions(options, { store: 'redis', known });
  const db = checkNumber('db', options.db, 0, { min: 0, max: 65_535 });
  if (!Number.isInteger(db)) throw invalidOption('db', db, 'an integer');
  const endpoints = parseEndpoints(options.endpoints, DEFAULT_PORT);
  return { ...shared, endpoints, db, credentials: credentialsOf(options.credentials) };
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
 * `redis://user:password@host1:6379,host2:6379/namespace?db=0&connectTimeoutMs=5000`, or
 * `rediss://` for TLS. `valkey://` and `valkeys://` mean the same.
 */
const SHAPE: StoreUrlShape = {
  schemes: ['redis', 'valkey'],
  secureSchemes: ['rediss', 'valkeys'],
  parameters: ['connectTimeoutMs', 'db'],
  example: 'redis://host:port/namespace, or rediss:// for TLS',
};

/** Other clients read `redis://host/0` as the number of a database. */
const NO_DATABASE = 'a name that is not only digits: for a database write redis://host/my-app?db=0';

/** Rejects if a file that the parameters `ca`, `cert` and `key` name cannot be read. */
export async function readUrl(text: string): Promise<RedisOptions> {
  const url = new StoreUrl(text, SHAPE);
  if (/^\d+$/.test(url.namespace)) throw invalidText('namespace', url.namespace, NO_DATABASE);
  return { endpoints: url.hosts, ...url.sharedOptions, ...given({ db: url.number('db'), credentials: credentialsIn(url) }) };
}

/** `user:password`, or `:password` for a server that has only a password. */
function credentialsIn(url: StoreUrl): Credentials | undefined {
  if (url.user === undefined) return undefined;
  const { name, password } = url.user;
  if (password === undefined) throw url.invalidUser('given a user as user:password, or a password alone as :password');
  return name === '' ? { password } : { username: name, password };
}
