/** What a store is opened with, checked: a URL or an object, turned into settings. */

import type { Clock } from '@incumbent/core';
import {
  checkFunction,
  checkKnown,
  checkNumber,
  checkOneOf,
  checkPath,
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

import { type Acl, CREATOR_ONLY, OPEN } from './protocol/acl.ts';
import type { Auth } from './connection/handshake.ts';

export interface ZookeeperOptions {
  /** Servers of one ensemble, as `host` or `host:port`; the port is 2181 if left out. Any of them may serve: list all. */
  readonly endpoints: readonly string[];
  /** The node that all keys of this store stand under: names of `A-Z a-z 0-9 . _ ~ -`, separated by `/`. Made if it is missing. Default `incumbent`. */
  readonly namespace?: string;
  /** How long opening may take, in ms: 100 to 600,000. Default 5,000. */
  readonly connectTimeoutMs?: number;
  /** Present: connect by TLS. */
  readonly tls?: TlsOptions;
  /** Shown to servers by the scheme `digest`. No server says whether the password is right: a wrong one merely gives no rights. */
  readonly credentials?: Credentials;
  /** Who may read and change what this store makes: anybody, or its credentials alone. Default `creator` where there are credentials, else `open`. */
  readonly acl?: 'open' | 'creator';
  /** Opens the byte stream to a server in place of TCP or TLS: for tunnels, and for tests. */
  readonly connect?: Connect;
  /** For tests. */
  readonly clock?: Clock;
}

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

export interface ZookeeperSettings {
  readonly endpoints: readonly Endpoint[];
  readonly namespace: string;
  readonly connectTimeoutMs: number;
  readonly auths: readonly Auth[];
  readonly acls: readonly Acl[];
  readonly connect: Connect;
  readonly clock: Clock;
  /** The options, for another process; undefined where it cannot be given them. */
  readonly access: string | undefined;
}

const DEFAULT_PORT = 2181;

const known = ['endpoints', 'namespace', 'connectTimeoutMs', 'tls', 'credentials', 'acl', 'connect', 'clock'];

/** Rejects with a `TypeError` or `RangeError` (`INVALID_OPTION`), or with what reading a certificate that a URL names ran into. */
export async function readOptions(input: string | ZookeeperOptions): Promise<ZookeeperSettings> {
  return settingsOf(typeof input === 'string' ? await readUrl(input) : input);
}

function settingsOf(options: ZookeeperOptions): ZookeeperSettings {
  if (typeof options !== 'object' || options === null) throw invalidSecret('zookeeper', options, 'a URL or an object of options');
  checkKnown('zookeeper', options, known);
  const { tls, connect, clock = systemClock } = options;
  if (tls !== undefined) checkTls(tls);
  if (connect !== undefined) checkFunction('connect', connect);
  const auths = authsOf(options.credentials);
  const acl = checkOneOf('acl', options.acl, auths.length > 0 ? 'creator' : 'open', ['open', 'creator']);
  if (acl === 'creator' && auths.length === 0) throw invalidSecret('acl', acl, 'given together with credentials', `"${acl}"`);
  return {
    endpoints: parseEndpoints(options.endpoints, DEFAULT_PORT),
    namespace: checkPath('namespace', options.namespace ?? 'incumbent'),
    connectTimeoutMs: checkNumber('connectTimeoutMs', options.connectTimeoutMs, 5_000, { min: 100, max: 600_000 }),
    auths,
    acls: acl === 'open' ? OPEN : CREATOR_ONLY,
    connect: connect ?? ((endpoint, signal) => connectSocket(endpoint, { tls }, signal)),
    clock,
    access: accessOf(options),
  };
}

function authsOf(credentials: Credentials | undefined): readonly Auth[] {
  if (credentials === undefined) return [];
  checkKnown('credentials', credentials, ['username', 'password']);
  const { username, password } = credentials;
  if (typeof username !== 'string' || username === '' || username.includes(':'))
    throw invalidSecret('credentials.username', username, 'a name without a colon');
  if (typeof password !== 'string') throw invalidSecret('credentials.password', password, 'a string');
  return [{ scheme: 'digest', auth: `${username}:${password}` }];
}

/** `zookeeper://user:password@host1:2181,host2:2181/namespace?connectTimeoutMs=5000`; `zookeepers://` for TLS. */
const SHAPE: StoreUrlShape = {
  schemes: ['zookeeper'],
  secureSchemes: ['zookeepers'],
  parameters: ['connectTimeoutMs', 'acl'],
  example: 'zookeeper://host:port,host:port/namespace, or zookeepers:// for TLS',
};

/** Rejects where a file that the parameters `ca`, `cert` and `key` name cannot be read. */
async function readUrl(text: string): Promise<ZookeeperOptions> {
  const url = new StoreUrl(text, SHAPE);
  const connectTimeoutMs = url.number('connectTimeoutMs');
  const acl = url.oneOf('acl', ['open', 'creator']);
  const credentials = credentialsIn(url, text);
  const tls = url.tls();
  return {
    endpoints: url.hosts,
    ...(url.namespace === '' ? {} : { namespace: url.namespace }),
    ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
    ...(acl === undefined ? {} : { acl }),
    ...(credentials === undefined ? {} : { credentials }),
    ...(tls === undefined ? {} : { tls }),
  };
}

function credentialsIn({ user }: StoreUrl, text: string): Credentials | undefined {
  if (user === undefined) return undefined;
  const { name, password } = user;
  if (name === '' || password === undefined) throw invalidSecret('url', text, 'given a user as user:password', showUrl(text));
  return { username: name, password };
}
