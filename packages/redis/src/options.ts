/** Reads and checks the options of a store, and its URL. */

import type { Clock } from '@incumbent/core';
import { checkKnown, checkNumber, invalidOption, invalidSecret, invalidText, isUrl, urlText } from '@incumbent/core/adapter';
import {
  checkTls,
  checkTlsIsUsed,
  type Connect,
  connectSocket,
  type Endpoint,
  omitUndefined,
  parseEndpoints,
  plainTls,
  readSharedOptions,
  type SharedSettings,
  StoreUrl,
  type StoreUrlShape,
  type TlsOptions,
} from '@incumbent/network';

import type { Credentials } from './client/greeting.ts';
import type { SentinelSettings } from './client/sentinel.ts';

/**
 * The options of a store on a Redis or Valkey server. `openRedis` checks them, and rejects with
 * `INVALID_OPTION`, also for an unknown option.
 */
export interface RedisOptions {
  /**
   * A server and its replicas, or servers of a cluster, each as `host` or `host:port`. At least
   * one. The port is 6379 if left out. The store uses the server that accepts the namespace's
   * writes. Of a cluster, one server is enough: the store follows `MOVED`. Give either `endpoints`
   * or `sentinel`.
   */
  readonly endpoints?: readonly string[] | undefined;
  /**
   * Sentinels, which name the current primary. The store asks one whenever it connects, and the
   * next one if it does not answer, or if the server that it named accepts no writes.
   */
  readonly sentinel?: SentinelOptions | undefined;
  /**
   * The prefix of all keys: names of `A-Z a-z 0-9 . _ ~ -`, separated by `/`. Default `incumbent`.
   */
  readonly namespace?: string | undefined;
  /** The number of the database, an integer from 0 to 65,535. Default 0. */
  readonly db?: number | undefined;
  /** The longest time for opening, in ms: 100 to 600,000. Default 5,000. */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * Connects by TLS if present; `{}` trusts the system's certificate authorities. Default: no TLS.
   */
  readonly tls?: TlsOptions | undefined;
  /** A user of Redis's own, or a password alone. Default: no login. */
  readonly credentials?: Credentials | undefined;
  /**
   * Opens the byte stream to a server or to a Sentinel, in place of TCP or TLS: for a tunnel. The
   * store calls it whenever it has no connection. Not beside `tls` or `sentinel.tls`.
   */
  readonly connect?: Connect | undefined;
  /** For tests. Default: the system's clock. */
  readonly clock?: Clock | undefined;
}

/** How to find the current primary by Sentinels. */
export interface SentinelOptions {
  /** The Sentinels, each as `host` or `host:port`. At least one. The port is 26379 if left out. */
  readonly endpoints: readonly string[];
  /** The name under which the Sentinels watch the primary, such as `mymaster`. */
  readonly master: string;
  /** The user of the Sentinels themselves, or a password alone. Default: no login. */
  readonly credentials?: Credentials | undefined;
  /** Connects to the Sentinels by TLS if present. Default: no TLS, whatever the servers have. */
  readonly tls?: TlsOptions | undefined;
}

/** The options with their defaults. */
export interface RedisSettings extends SharedSettings<Connect> {
  /** Empty if there are Sentinels. */
  readonly endpoints: readonly Endpoint[];
  readonly sentinel: SentinelSettings | undefined;
  readonly db: number;
  readonly credentials: Credentials | undefined;
}

const DEFAULT_PORT = 6379;
const SENTINEL_PORT = 26_379;

const known = ['endpoints', 'sentinel', 'namespace', 'db', 'connectTimeoutMs', 'tls', 'credentials', 'connect', 'clock'];

/**
 * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION`, or the system's error if a
 * certificate file that a URL names cannot be read.
 */
export function readOptions(input: string | URL | RedisOptions): RedisSettings {
  return settingsOf(isUrl(input) ? readUrl(urlText(input)) : input);
}

function settingsOf(input: RedisOptions): RedisSettings {
  const options = portable(input);
  const shared = readSharedOptions(options, { store: 'redis', known });
  const db = checkNumber('db', options.db, 0, { min: 0, max: 65_535 });
  if (!Number.isInteger(db)) throw invalidOption('db', db, 'an integer');
  const sentinel = options.sentinel === undefined ? undefined : sentinelOf(options.sentinel, options.connect);
  if (sentinel !== undefined && options.endpoints !== undefined)
    throw invalidSecret('endpoints', options.endpoints, 'left out if there is the option sentinel');
  const endpoints = sentinel === undefined ? parseEndpoints(options.endpoints, DEFAULT_PORT) : [];
  return { ...shared, endpoints, sentinel, db, credentials: credentialsOf('credentials', options.credentials) };
}

/** The certificates of Sentinels as another process of this machine can read them. */
function portable(options: RedisOptions): RedisOptions {
  const { sentinel } = options ?? {};
  if (typeof sentinel !== 'object' || sentinel === null || sentinel.tls === undefined) return options;
  checkTls(sentinel.tls);
  return { ...options, sentinel: { ...sentinel, tls: plainTls(sentinel.tls) } };
}

function sentinelOf(sentinel: SentinelOptions, connect: Connect | undefined): SentinelSettings {
  if (typeof sentinel !== 'object' || sentinel === null) throw invalidSecret('sentinel', sentinel, 'an object with endpoints and master');
  checkKnown('sentinel', sentinel, ['endpoints', 'master', 'credentials', 'tls']);
  const { master, tls } = sentinel;
  checkTlsIsUsed('sentinel.tls', tls, connect);
  if (typeof master !== 'string' || !/^[A-Za-z0-9._-]+$/.test(master))
    throw invalidSecret('sentinel.master', master, 'the name that the Sentinels have for the primary, of A-Z a-z 0-9 . _ -');
  return {
    endpoints: parseEndpoints(sentinel.endpoints, SENTINEL_PORT),
    master,
    credentials: credentialsOf('sentinel.credentials', sentinel.credentials),
    connect: connect ?? ((endpoint, signal) => connectSocket(endpoint, { tls }, signal)),
  };
}

function credentialsOf(option: string, credentials: Credentials | undefined): Credentials | undefined {
  if (credentials === undefined) return undefined;
  checkKnown(option, credentials, ['username', 'password']);
  const { username, password } = credentials;
  if (username !== undefined && (typeof username !== 'string' || username === ''))
    throw invalidSecret(`${option}.username`, username, 'a name, or left out');
  if (typeof password !== 'string') throw invalidSecret(`${option}.password`, password, 'a string');
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
  example: 'redis://host:port/namespace, or rediss:// for TLS; redis+sentinel://… for Sentinels',
};

/**
 * `redis+sentinel://user:password@sentinel1:26379,sentinel2/namespace?master=mymaster`. The user is
 * the user of the servers; `sentinelUsername` and `sentinelPassword` are for the Sentinels. With
 * `rediss+sentinel://`, servers and Sentinels speak TLS; `sentinelTls=false` is for Sentinels
 * without.
 */
const SENTINEL_SHAPE: StoreUrlShape = {
  schemes: ['redis+sentinel', 'valkey+sentinel'],
  secureSchemes: ['rediss+sentinel', 'valkeys+sentinel'],
  parameters: [...SHAPE.parameters, 'master', 'sentinelUsername', 'sentinelPassword', 'sentinelTls'],
  example: 'redis+sentinel://host:port/namespace?master=mymaster, or rediss+sentinel:// for TLS',
};

/** Other clients read `redis://host/0` as the number of a database. */
const NO_DATABASE = 'a name that is not only digits: for a database write redis://host/my-app?db=0';

/** @throws The system's error if a file that `ca`, `cert` or `key` names cannot be read. */
export function readUrl(text: string): RedisOptions {
  const isSentinel = /^[a-z]+\+sentinel:/.test(text);
  const url = new StoreUrl(text, isSentinel ? SENTINEL_SHAPE : SHAPE);
  if (/^\d+$/.test(url.namespace)) throw invalidText('namespace', url.namespace, NO_DATABASE);
  const servers = isSentinel ? { sentinel: sentinelIn(url) } : { endpoints: url.hosts };
  return { ...servers, ...url.sharedOptions, ...omitUndefined({ db: url.number('db'), credentials: credentialsIn(url) }) };
}

function sentinelIn(url: StoreUrl): SentinelOptions {
  const master = url.text('master');
  if (master === undefined) throw invalidText('master', master, 'the name of the primary, as in ?master=mymaster');
  const [username, password] = [url.text('sentinelUsername'), url.text('sentinelPassword')];
  if (username !== undefined && password === undefined) throw invalidText('sentinelPassword', password, 'given with sentinelUsername');
  const credentials = password === undefined ? undefined : { password, ...omitUndefined({ username }) };
  const isSecure = url.boolean('sentinelTls') ?? url.isSecure;
  if (isSecure && !url.isSecure) throw invalidText('sentinelTls', 'true', 'true only with rediss+sentinel://');
  return { endpoints: url.hosts, master, ...omitUndefined({ credentials, tls: isSecure ? sentinelTls(url.tls()) : undefined }) };
}

/** The parameter `servername` is the name of the servers. */
function sentinelTls(tls: TlsOptions | undefined): TlsOptions {
  const { servername: _, ...rest } = tls ?? {};
  return rest;
}

/** `user:password`, or `:password` for a server that has only a password. */
function credentialsIn(url: StoreUrl): Credentials | undefined {
  if (url.user === undefined) return undefined;
  const { name, password } = url.user;
  if (password === undefined) throw url.invalidUser('given a user as user:password, or a password alone as :password');
  return name === '' ? { password } : { username: name, password };
}
