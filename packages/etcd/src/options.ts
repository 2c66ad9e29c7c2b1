/** The options of the store and its URL, checked and with defaults. */

import { checkKnown, checkNumber, isUrl, urlText } from '@incumbent/core/adapter';
import {
  checkCredentials,
  type Connect,
  DIAL_TIMEOUT_MS,
  type Endpoint,
  omitUndefined,
  parseEndpoints,
  readSharedOptions,
  StoreUrl,
  type StoreUrlShape,
  type TlsOptions,
  type UserCredentials,
} from '@incumbent/network';

import type { Keepalive } from './client/http2-connection.ts';

/**
 * The options of a store on an etcd cluster. `openEtcd` checks them, and rejects with
 * `INVALID_OPTION`, also for an unknown option.
 */
export interface EtcdOptions {
  /**
   * Members of one cluster, as `host` or `host:port`. The default port is 2379. List all members:
   * the store uses any one of them, and moves to another if that one fails.
   */
  readonly endpoints: readonly string[];
  /**
   * The prefix of all keys of this store: names of `A-Z a-z 0-9 . _ ~ -`, separated by `/`. Default
   * `incumbent`.
   */
  readonly namespace?: string | undefined;
  /** How long opening may take, in ms: 100 to 600,000. Default 5,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** If given, the store connects with TLS. `{}` trusts the authorities that Node trusts. */
  readonly tls?: TlsOptions | undefined;
  /** A user of etcd. */
  readonly credentials?: UserCredentials | undefined;
  readonly keepalive?: KeepaliveOptions | undefined;
  /**
   * Opens the byte stream to a member, instead of TCP or TLS: for tunnels, and for tests. The
   * stream must carry HTTP/2 as on the client port of etcd, without TLS. Not beside `tls`.
   */
  readonly connect?: Connect | undefined;
}

/** The store notices a dead connection with a watch or a call on it within the sum of the two. */
export interface KeepaliveOptions {
  /**
   * The time between two pings, in ms: 6,000 to 3,600,000. Default 10,000. etcd treats more
   * frequent pings as an attack.
   */
  readonly intervalMs?: number | undefined;
  /** How long the answer to a ping may take, in ms: 100 to 600,000. Default 3,000. */
  readonly timeoutMs?: number | undefined;
}

export interface EtcdSettings {
  readonly endpoints: readonly Endpoint[];
  readonly namespace: string;
  readonly connectTimeoutMs: number;
  readonly dialTimeoutMs: number;
  readonly maxRequests: number;
  readonly credentials: UserCredentials | undefined;
  readonly keepalive: Keepalive;
  readonly secure: boolean;
  /** The options for another process. Undefined if they contain a function. */
  readonly access: string | undefined;
  readonly connect: Connect;
}

/** The requests of one connection: half of the stream numbers that HTTP/2 has. */
const MAX_REQUESTS = 2 ** 29;

/** TCP probes a connection without requests after so many ms, as etcd allows no pings on it. */
const PROBE_AFTER_MS = 10_000;

const DEFAULT_PORT = 2379;

const SHARED = {
  store: 'etcd',
  known: ['endpoints', 'namespace', 'connectTimeoutMs', 'tls', 'credentials', 'keepalive', 'connect'],
  protocols: ['h2'],
  probeAfterMs: PROBE_AFTER_MS,
};

/**
 * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION`, or the system's error if a
 * certificate file that a URL names cannot be read.
 */
export function readOptions(input: string | URL | EtcdOptions): EtcdSettings {
  return settingsOf(isUrl(input) ? readUrl(urlText(input)) : input);
}

function settingsOf(options: EtcdOptions): EtcdSettings {
  const { namespace, connectTimeoutMs, connect, access } = readSharedOptions(options, SHARED);
  const { endpoints, credentials, keepalive, tls } = options;
  return {
    endpoints: parseEndpoints(endpoints, DEFAULT_PORT),
    namespace,
    connectTimeoutMs,
    maxRequests: MAX_REQUESTS,
    dialTimeoutMs: Math.min(connectTimeoutMs, DIAL_TIMEOUT_MS),
    credentials: credentials === undefined ? undefined : checkCredentials(credentials),
    keepalive: keepaliveOf(keepalive ?? {}),
    secure: tls !== undefined,
    access,
    connect,
  };
}

function keepaliveOf(keepalive: KeepaliveOptions): Keepalive {
  checkKnown('keepalive', keepalive, ['intervalMs', 'timeoutMs']);
  const why = 'etcd drops the connections of clients that ping more often';
  return {
    intervalMs: checkNumber('keepalive.intervalMs', keepalive.intervalMs, 10_000, { min: 6_000, max: 3_600_000, why }),
    timeoutMs: checkNumber('keepalive.timeoutMs', keepalive.timeoutMs, 3_000, { min: 100, max: 600_000 }),
  };
}

/**
 * `etcd://user:password@host1:2379,host2:2379/namespace?connectTimeoutMs=5000`; `etcds://` for TLS.
 */
const SHAPE: StoreUrlShape = {
  schemes: ['etcd'],
  secureSchemes: ['etcds'],
  parameters: ['connectTimeoutMs', 'keepaliveIntervalMs', 'keepaliveTimeoutMs'],
  example: 'etcd://host:port,host:port/namespace, or etcds:// for TLS',
};

function readUrl(text: string): EtcdOptions {
  const url = new StoreUrl(text, SHAPE);
  return {
    endpoints: url.hosts,
    keepalive: omitUndefined({ intervalMs: url.number('keepaliveIntervalMs'), timeoutMs: url.number('keepaliveTimeoutMs') }),
    ...url.sharedOptions,
    ...omitUndefined({ credentials: url.credentials }),
  };
}
