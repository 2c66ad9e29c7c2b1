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
  connectSocket,
  type Endpoint,
  parseEndpoint,
  StoreUrl,
  type StoreUrlShape,
  type TlsOptions,
} from '@incumbent/network';

import type { Connect } from './client/endpoint.ts';

/**
 * What ends a session when nobody renews it: a check that the agent keeps, within its ttl, which may be 1 s; or the servers, within twice its ttl, which is 10 s at
 * the least. `auto`: the check, where the agent is this machine's own and may be asked to keep one.
 */
export type SessionBinding = 'auto' | 'check' | 'ttl';

export interface ConsulOptions {
  /** The agent, as `host` or `host:port`; the port is 8500 if left out, with TLS 8501. */
  readonly endpoint: string;
  /** What all keys of this store stand under: names of `A-Z a-z 0-9 . _ ~ -`, separated by `/`. Default `incumbent`. */
  readonly namespace?: string;
  /** How long opening may take, in ms: 100 to 600,000. Default 5,000. */
  readonly connectTimeoutMs?: number;
  /** Present: connect by TLS. */
  readonly tls?: TlsOptions;
  /** The secret of an ACL token. */
  readonly token?: string;
  /** The datacenter that must serve: the agent's own, as sessions are made on the agent. Whichever that is if left out. */
  readonly datacenter?: string;
  /** A namespace of Consul Enterprise. */
  readonly consulNamespace?: string;
  /** Default `auto`. */
  readonly session?: SessionBinding;
  /**
   * How long nobody can hold the keys of a session that the servers have ended, in ms: 0 to 60,000. Default 0: a deadline ends every leader's belief before, and terms
   * guard the rest. More is a belt against clocks that are far off, and so much more vacancy after each crash. Not after a resignation.
   */
  readonly lockDelayMs?: number;
  /** The servers' `session_ttl_min`, in ms: 1,000 to 86,400,000. Default 10,000, as is theirs. */
  readonly minSessionTtlMs?: number;
  /** How long servers may hold the answer to a watch, in ms: 1,000 to 600,000. A dead link is noticed within so long, a sixteenth, and 1 s. Default 10,000. */
  readonly watchWaitMs?: number;
  /** The most blocking queries at a time, each of which is a connection: 4 to 64. Watches beyond it share. Default 64. */
  readonly maxBlockingQueries?: number;
  /** Opens the socket to the agent in place of TCP or TLS: for tunnels, and for tests. */
  readonly connect?: Connect;
  /** For tests. */
  readonly clock?: Clock;
}

export interface ConsulSettings {
  readonly endpoint: Endpoint;
  readonly namespace: string;
  readonly connectTimeoutMs: number;
  readonly token: string | undefined;
  readonly scope: Readonly<Record<string, string>>;
  readonly session: SessionBinding;
  readonly lockDelayMs: number;
  readonly minSessionTtlMs: number;
  readonly watchWaitMs: number;
  readonly maxBlockingQueries: number;
  readonly connect: Connect;
  readonly clock: Clock;
  /** The options, for another process; undefined where it cannot be given them. */
  readonly access: string | undefined;
}

const DEFAULT_PORT = 8500;
const DEFAULT_SECURE_PORT = 8501;

const known = [
  'endpoint',
  'namespace',
  'connectTimeoutMs',
  'tls',
  'token',
  'datacenter',
  'consulNamespace',
  'session',
  'lockDelayMs',
  'minSessionTtlMs',
  'watchWaitMs',
  'maxBlockingQueries',
  'connect',
  'clock',
];

/** What a header may carry. */
const VISIBLE = /^[\x21-\x7e]+$/;

/** Rejects with a `TypeError` or `RangeError` (`INVALID_OPTION`), or with what reading a certificate that a URL names ran into. */
export async function readOptions(input: string | ConsulOptions): Promise<ConsulSettings> {
  return settingsOf(typeof input === 'string' ? await readUrl(input) : input);
}

function settingsOf(options: ConsulOptions): ConsulSettings {
  if (typeof options !== 'object' || options === null) throw invalidSecret('consul', options, 'a URL or an object of options');
  checkKnown('consul', options, known);
  const { tls, token, connect, clock = systemClock } = options;
  if (tls !== undefined) checkTls(tls);
  if (connect !== undefined) checkFunction('connect', connect);
  if (token !== undefined && !(typeof token === 'string' && VISIBLE.test(token)))
    throw invalidSecret('token', token, 'visible characters, at least one');
  return {
    endpoint: parseEndpoint(options.endpoint, tls === undefined ? DEFAULT_PORT : DEFAULT_SECURE_PORT),
    namespace: checkPath('namespace', options.namespace ?? 'incumbent'),
    connectTimeoutMs: checkNumber('connectTimeoutMs', options.connectTimeoutMs, 5_000, { min: 100, max: 600_000 }),
    token,
    scope: { ...scopeOf('dc', 'datacenter', options.datacenter), ...scopeOf('ns', 'consulNamespace', options.consulNamespace) },
    session: checkOneOf('session', options.session, 'auto', ['auto', 'check', 'ttl']),
    lockDelayMs: checkNumber('lockDelayMs', options.lockDelayMs, 0, { min: 0, max: 60_000 }),
    minSessionTtlMs: Math.ceil(checkNumber('minSessionTtlMs', options.minSessionTtlMs, 10_000, { min: 1_000, max: 86_400_000 })),
    watchWaitMs: checkNumber('watchWaitMs', options.watchWaitMs, 10_000, { min: 1_000, max: 600_000 }),
    maxBlockingQueries: Math.floor(checkNumber('maxBlockingQueries', options.maxBlockingQueries, 64, { min: 4, max: 64 })),
    connect: connect ?? ((endpoint, signal) => connectSocket(endpoint, { tls, protocols: ['http/1.1'] }, signal)),
    clock,
    access: accessOf(options),
  };
}

function scopeOf(parameter: string, option: string, name: string | undefined): Readonly<Record<string, string>> {
  if (name === undefined) return {};
  if (typeof name !== 'string' || !/^[A-Za-z0-9_-]+$/.test(name)) throw invalidSecret(option, name, 'a name of A-Z a-z 0-9 _ -');
  return { [parameter]: name };
}

const NUMBERS = ['lockDelayMs', 'minSessionTtlMs', 'connectTimeoutMs', 'watchWaitMs', 'maxBlockingQueries'] as const;

/** `consul://:token@host:8500/namespace?dc=dc1&session=check`; `consuls://` for TLS. */
const SHAPE: StoreUrlShape = {
  schemes: ['consul'],
  secureSchemes: ['consuls'],
  parameters: ['dc', 'ns', 'session', ...NUMBERS],
  example: 'consul://:token@host:port/namespace, or consuls:// for TLS',
};

/** Rejects where a file that the parameters `ca`, `cert` and `key` name cannot be read. */
async function readUrl(text: string): Promise<ConsulOptions> {
  const url = new StoreUrl(text, SHAPE);
  const [datacenter, consulNamespace, session] = [url.text('dc'), url.text('ns'), url.oneOf('session', ['auto', 'check', 'ttl'])];
  const token = tokenIn(url, text);
  const tls = url.tls();
  return {
    endpoint: url.hosts.join(','),
    ...(url.namespace === '' ? {} : { namespace: url.namespace }),
    ...(token === undefined ? {} : { token }),
    ...(datacenter === undefined ? {} : { datacenter }),
    ...(consulNamespace === undefined ? {} : { consulNamespace }),
    ...(session === undefined ? {} : { session }),
    ...numbersIn(url),
    ...(tls === undefined ? {} : { tls }),
  };
}

/** Where a password stands in other URLs: Consul has no users. */
function tokenIn({ user }: StoreUrl, text: string): string | undefined {
  if (user === undefined) return undefined;
  if (user.name !== '') throw invalidSecret('url', text, 'given a token as :token@, with a colon before it', showUrl(text));
  return user.password;
}

function numbersIn(url: StoreUrl): Partial<ConsulOptions> {
  const given = NUMBERS.map((name) => [name, url.number(name)] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}
