/** The options of a store: read from a URL or an object, and checked. */

import type { Clock } from '@incumbent/core';
import { checkOneOf, invalidSecret, isUrl, systemRandom, urlText } from '@incumbent/core/adapter';
import {
  checkCredentials,
  type Connect,
  type Endpoint,
  omitUndefined,
  parseEndpoints,
  readSharedOptions,
  SharedAllowance,
  type SharedSettings,
  StoreUrl,
  type StoreUrlShape,
  type TlsOptions,
} from '@incumbent/network';

import type { ClientOptions } from './client/client.ts';
import type { Auth } from './protocol/hello.ts';
import { type Acl, CREATOR_ONLY, OPEN } from './protocol/nodes.ts';

/**
 * The options of a store on a ZooKeeper ensemble. `openZookeeper` checks them, and rejects with
 * `INVALID_OPTION`, also for an unknown option.
 */
export interface ZookeeperOptions {
  /**
   * The servers of one ensemble, as `host` or `host:port`. The default port is 2181. The store uses
   * any one of them, so list all.
   */
  readonly endpoints: readonly string[];
  /**
   * The node under which all keys of this store are: names of `A-Z a-z 0-9 . _ ~ -`, separated by
   * `/`. The store creates it if it is missing. Default `incumbent`.
   */
  readonly namespace?: string | undefined;
  /** How long opening the store may take, in ms: 100 to 600,000. Default 5,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** Given: connects with TLS. Default: plain TCP. */
  readonly tls?: TlsOptions | undefined;
  /**
   * Shown to the servers by the scheme `digest`. A server does not report a wrong password: it
   * grants no rights. Default: none.
   */
  readonly credentials?: Credentials | undefined;
  /**
   * Who may read and change the nodes that this store creates: anybody (`open`), or only its
   * credentials (`creator`). Default `creator` with credentials, else `open`.
   */
  readonly acl?: 'open' | 'creator' | undefined;
  /**
   * Opens the byte stream to a server instead of TCP or TLS: for tunnels, and for tests. Not beside
   * `tls`.
   */
  readonly connect?: Connect | undefined;
  /** For tests. */
  readonly clock?: Clock | undefined;
}

/** Identifies this store to the servers. */
export interface Credentials {
  /** Not empty, and without a colon. */
  readonly username: string;
  readonly password: string;
}

export interface ZookeeperSettings extends SharedSettings<Connect> {
  readonly endpoints: readonly Endpoint[];
  readonly auths: readonly Auth[];
  readonly acls: readonly Acl[];
}

const DEFAULT_PORT = 2181;

const known = ['endpoints', 'namespace', 'connectTimeoutMs', 'tls', 'credentials', 'acl', 'connect', 'clock'];

/**
 * The timeout of the session for reads and watches. A dead link is found within two thirds of it.
 */
const SHARED_TIMEOUT_MS = 6_000;

/** How long one server may take to accept a connection, and then to grant a session. */
const SERVER_TIMEOUT_MS = 2_000;

/**
 * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION`, or the system's error if a
 * certificate file that a URL names cannot be read.
 */
export function readOptions(input: string | URL | ZookeeperOptions): ZookeeperSettings {
  return settingsOf(isUrl(input) ? readUrl(urlText(input)) : input);
}

/** How a client with these settings reaches the servers. */
export function clientOptionsOf({ clock, connect, endpoints, auths, connectTimeoutMs }: ZookeeperSettings): ClientOptions {
  const perServerMs = Math.min(connectTimeoutMs, SERVER_TIMEOUT_MS);
  return {
    clock,
    random: systemRandom,
    connect,
    endpoints,
    auths,
    answers: new SharedAllowance(),
    connectTimeoutMs: perServerMs,
    handshakeTimeoutMs: perServerMs,
    timeoutMs: SHARED_TIMEOUT_MS,
  };
}

function settingsOf(options: ZookeeperOptions): ZookeeperSettings {
  const shared = readSharedOptions<Connect>(options, { store: 'zookeeper', known });
  const auths = authsOf(options.credentials);
  const acl = checkOneOf('acl', options.acl, auths.length > 0 ? 'creator' : 'open', ['open', 'creator']);
  if (acl === 'creator' && auths.length === 0) throw invalidSecret('acl', acl, 'given together with credentials', `"${acl}"`);
  return {
    ...shared,
    endpoints: parseEndpoints(options.endpoints, DEFAULT_PORT),
    auths,
    acls: acl === 'open' ? OPEN : CREATOR_ONLY,
  };
}

function authsOf(credentials: Credentials | undefined): readonly Auth[] {
  if (credentials === undefined) return [];
  const { username, password } = checkCredentials(credentials);
  // The scheme `digest` separates the two by a colon.
  if (username.includes(':')) throw invalidSecret('credentials.username', username, 'a name without a colon');
  return [{ scheme: 'digest', auth: `${username}:${password}` }];
}

const URL_SHAPE: StoreUrlShape = {
  schemes: ['zookeeper'],
  secureSchemes: ['zookeepers'],
  parameters: ['connectTimeoutMs', 'acl'],
  example: 'zookeeper://host:port,host:port/namespace, or zookeepers:// for TLS',
};

/** Reads `zookeeper://user:password@host1:2181,host2:2181/namespace?connectTimeoutMs=5000`. */
function readUrl(text: string): ZookeeperOptions {
  const url = new StoreUrl(text, URL_SHAPE);
  return {
    endpoints: url.hosts,
    ...url.sharedOptions,
    ...omitUndefined({ acl: url.oneOf('acl', ['open', 'creator']), credentials: url.credentials }),
  };
}
