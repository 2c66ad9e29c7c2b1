/** What a store is opened with, checked: a URL or an object, turned into settings. */

import { checkFunction, checkKnown, checkNumber, checkPath, invalidSecret, showUrl } from '@incumbent/core/adapter';
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

import type { Keepalive } from './client/http2-connection.ts';
import type { Credentials } from './protocol/admin.ts';

export interface EtcdOptions {
  /** Members of one cluster, as `host` or `host:port`; the port is 2379 if left out. Any of them may serve: list all. */
  readonly endpoints: readonly string[];
  /** What all keys of this store stand under: names of `A-Z a-z 0-9 . _ ~ -`, separated by `/`. Default `incumbent`. */
  readonly namespace?: string;
  /** How long opening may take, in ms: 100 to 600,000. Default 5,000. */
  readonly connectTimeoutMs?: number;
  /** Present: connect by TLS. */
  readonly tls?: TlsOptions;
  /** A user of etcd's own. */
  readonly credentials?: Credentials;
  readonly keepalive?: KeepaliveOptions;
  /**
   * Opens the byte stream to a member in place of TCP or TLS: for tunnels, and for tests. It must bring HTTP/2 as the server's client port
   * speaks it, TLS removed.
   */
  readonly connect?: Connect;
}

/** A dead link is noticed within the sum of the two, as long as there is a watch or a call on it. */
export interface KeepaliveOptions {
  /** Between two pings, in ms: 6,000 to 3,600,000. Default 10,000. A server takes more frequent ones for an attack. */
  readonly intervalMs?: number;
  /** How long the answer to one may take, in ms: 100 to 600,000. Default 3,000. */
  readonly timeoutMs?: number;
}

export interface EtcdSettings {
  readonly endpoints: readonly Endpoint[];
  readonly namespace: string;
  readonly connectTimeoutMs: number;
  readonly dialTimeoutMs: number;
  readonly maxRequests: number;
  readonly credentials: Credentials | undefined;
  readonly keepalive: Keepalive;
  readonly secure: boolean;
  /** The options, for another process; undefined where it cannot be given them. */
  readonly access: string | undefined;
  readonly connect: Connect;
}

/** One member may take so long to show that it speaks HTTP/2: an attempt that is given up makes room for a new one. */
const DIAL_TIMEOUT_MS = 3_000;

/** Of one connection: half of what HTTP/2 has numbers for. */
const MAX_REQUESTS = 2 ** 29;

/** TCP's own probes, for the time in which no request is under way and etcd allows no pings. */
const PROBE_AFTER_MS = 10_000;

const DEFAULT_PORT = 2379;

const known = ['endpoints', 'namespace', 'connectTimeoutMs', 'tls', 'credentials', 'keepalive', 'connect'];

/** Rejects with a `TypeError` or `RangeError` (`INVALID_OPTION`), or with what reading a certificate that a URL names ran into. */
export async function readOptions(input: string | EtcdOptions): Promise<EtcdSettings> {
  return settingsOf(typeof input === 'string' ? await readUrl(input) : input);
}

function settingsOf(options: EtcdOptions): EtcdSettings {
  if (typeof options !== 'object' || options === null) throw invalidSecret('etcd', options, 'a URL or an object of options');
  checkKnown('etcd', options, known);
  const { tls, connect } = options;
  if (tls !== undefined) checkTls(tls);
  if (connect !== undefined) checkFunction('connect', connect);
  const connectTimeoutMs = checkNumber('connectTimeoutMs', options.connectTimeoutMs, 5_000, { min: 100, max: 600_000 });
  return {
    endpoints: parseEndpoints(options.endpoints, DEFAULT_PORT),
    namespace: checkPath('namespace', options.namespace ?? 'incumbent'),
    connectTimeoutMs,
    maxRequests: MAX_REQUESTS,
    dialTimeoutMs: Math.min(connectTimeoutMs, DIAL_TIMEOUT_MS),
    credentials: credentialsOf(options.credentials),
    keepalive: keepaliveOf(options.keepalive ?? {}),
    secure: tls !== undefined,
    access: accessOf(options),
    connect: connect ?? ((endpoint, signal) => connectSocket(endpoint, { tls, protocols: ['h2'], probeAfterMs: PROBE_AFTER_MS }, signal)),
  };
}

function credentialsOf(credentials: Credentials | undefined): Credentials | undefined {
  if (credentials === undefined) return undefined;
  checkKnown('credentials', credentials, ['username', 'password']);
  const { username, password } = credentials;
  if (typeof username !== 'string' || username === '') throw invalidSecret('credentials.username', username, 'a name');
  if (typeof password !== 'string') throw invalidSecret('credentials.password', password, 'a string');
  return { username, password };
}

function keepaliveOf(keepalive: KeepaliveOptions): Keepalive {
  checkKnown('keepalive', keepalive, ['intervalMs', 'timeoutMs']);
  const why = 'etcd drops the connections of clients that ping more often';
  return {
    intervalMs: checkNumber('keepalive.intervalMs', keepalive.intervalMs, 10_000, { min: 6_000, max: 3_600_000, why }),
    timeoutMs: checkNumber('keepalive.timeoutMs', keepalive.timeoutMs, 3_000, { min: 100, max: 600_000 }),
  };
}

/** `etcd://user:password@host1:2379,host2:2379/namespace?connectTimeoutMs=5000`; `etcds://` for TLS. */
const SHAPE: StoreUrlShape = {
  schemes: ['etcd'],
  secureSchemes: ['etcds'],
  parameters: ['connectTimeoutMs', 'keepaliveIntervalMs', 'keepaliveTimeoutMs'],
  example: 'etcd://host:port,host:port/namespace, or etcds:// for TLS',
};

/** Rejects where a file that the parameters `ca`, `cert` and `key` name cannot be read. */
async function readUrl(text: string): Promise<EtcdOptions> {
  const url = new StoreUrl(text, SHAPE);
  const connectTimeoutMs = url.number('connectTimeoutMs');
  const credentials = credentialsIn(url, text);
  const tls = url.tls();
  return {
    endpoints: url.hosts,
    keepalive: keepaliveIn(url),
    ...(url.namespace === '' ? {} : { namespace: url.namespace }),
    ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
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

function keepaliveIn(url: StoreUrl): KeepaliveOptions {
  const intervalMs = url.number('keepaliveIntervalMs');
  const timeoutMs = url.number('keepaliveTimeoutMs');
  return { ...(intervalMs === undefined ? {} : { intervalMs }), ...(timeoutMs === undefined ? {} : { timeoutMs }) };
}
