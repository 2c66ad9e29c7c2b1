/** Reads and checks the options of a store, from a URL or an object. */

import type { Clock } from '@incumbent/core';
import { checkNumber, checkOneOf, invalidSecret, isUrl, urlText } from '@incumbent/core/adapter';
import {
  type Endpoint,
  omitUndefined,
  parseEndpoint,
  readSharedOptions,
  type SharedSettings,
  StoreUrl,
  type StoreUrlShape,
  type TlsOptions,
} from '@incumbent/network';

import type { Connect } from './client/connections.ts';

/**
 * What ends a session that nobody renews. With `check`, a check of the agent ends it within its
 * ttl, which is at least 1 s. With `ttl`, the servers end it within twice its ttl, which is at
 * least 10 s. `auto` chooses `check` if the agent runs on this machine and lets the store register
 * a service, and `ttl` otherwise.
 */
export type SessionBinding = 'auto' | 'check' | 'ttl';

/**
 * The options of a store on an agent of Consul. `openConsul` checks them, and rejects with
 * `INVALID_OPTION`, also for an unknown option.
 */
export interface ConsulOptions {
  /** The agent, as `host` or `host:port`. The default port is 8500, or 8501 with TLS. */
  readonly endpoint: string;
  /**
   * The prefix of all keys of this store: names of `A-Z a-z 0-9 . _ ~ -`, separated by `/`. Default
   * `incumbent`.
   */
  readonly namespace?: string | undefined;
  /**
   * How long opening the store, or one connection, may take, in ms: 100 to 600,000. Default 5,000.
   */
  readonly connectTimeoutMs?: number | undefined;
  /** If present, the store connects with TLS. */
  readonly tls?: TlsOptions | undefined;
  /** The secret of an ACL token. */
  readonly token?: string | undefined;
  /**
   * The datacenter that must serve. Only the agent's own can serve, because the agent creates the
   * sessions. Default: the agent's own.
   */
  readonly datacenter?: string | undefined;
  /** A namespace of Consul Enterprise. */
  readonly consulNamespace?: string | undefined;
  /** What ends a session that nobody renews. Default `auto`. */
  readonly session?: SessionBinding | undefined;
  /**
   * How long no session can lock the keys of a session that the servers have ended, in ms: 0 to
   * 60,000. Default 0, because a leadership becomes invalid before its session can end, and the
   * store refuses later writes by their term. A longer delay protects against clocks that are far
   * off, and extends the vacancy after each crash by as much. It does not delay a resignation.
   */
  readonly lockDelayMs?: number | undefined;
  /**
   * The servers' setting `session_ttl_min`, in ms: 1,000 to 86,400,000. Default 10,000, as for the
   * servers.
   */
  readonly minSessionTtlMs?: number | undefined;
  /**
   * How long the servers may wait for a change before they answer a watch, in ms: 1,000 to 600,000.
   * A watch reports a dead link within this time, a sixteenth of it, and 1 s. Default 10,000.
   */
  readonly watchWaitMs?: number | undefined;
  /**
   * The highest number of blocking queries at a time, each of which needs a connection: 4 to 64.
   * Further watches share queries. Default 64.
   */
  readonly maxBlockingQueries?: number | undefined;
  /**
   * Opens the sockets to the agent, instead of TCP or TLS. For tunnels and for tests. Not beside
   * `tls`.
   */
  readonly connect?: Connect | undefined;
  /** Replaces the system's clock in tests. */
  readonly clock?: Clock | undefined;
}

export interface ConsulSettings extends SharedSettings<Connect> {
  readonly endpoint: Endpoint;
  readonly token: string | undefined;
  /** Query parameters of every request. */
  readonly scope: Readonly<Record<string, string>>;
  readonly session: SessionBinding;
  readonly lockDelayMs: number;
  readonly minSessionTtlMs: number;
  readonly watchWaitMs: number;
  readonly maxBlockingQueries: number;
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

/** The characters that a header can carry. */
const VISIBLE = /^[\x21-\x7e]+$/;

/**
 * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION`, or the system's error if a
 * certificate file that a URL names cannot be read.
 */
export function readOptions(input: string | URL | ConsulOptions): ConsulSettings {
  return settingsOf(isUrl(input) ? readUrl(urlText(input)) : input);
}

function settingsOf(options: ConsulOptions): ConsulSettings {
  const shared = readSharedOptions(options, { store: 'consul', known, protocols: ['http/1.1'] });
  const { tls, token } = options;
  if (token !== undefined && !(typeof token === 'string' && VISIBLE.test(token)))
    throw invalidSecret('token', token, 'visible characters, at least one');
  return {
    ...shared,
    endpoint: parseEndpoint(options.endpoint, tls === undefined ? DEFAULT_PORT : DEFAULT_SECURE_PORT),
    token,
    scope: { ...scopeOf('dc', 'datacenter', options.datacenter), ...scopeOf('ns', 'consulNamespace', options.consulNamespace) },
    session: checkOneOf('session', options.session, 'auto', ['auto', 'check', 'ttl']),
    lockDelayMs: checkNumber('lockDelayMs', options.lockDelayMs, 0, { min: 0, max: 60_000 }),
    minSessionTtlMs: Math.ceil(checkNumber('minSessionTtlMs', options.minSessionTtlMs, 10_000, { min: 1_000, max: 86_400_000 })),
    watchWaitMs: checkNumber('watchWaitMs', options.watchWaitMs, 10_000, { min: 1_000, max: 600_000 }),
    maxBlockingQueries: Math.floor(checkNumber('maxBlockingQueries', options.maxBlockingQueries, 64, { min: 4, max: 64 })),
  };
}

function scopeOf(parameter: string, option: string, name: string | undefined): Readonly<Record<string, string>> {
  if (name === undefined) return {};
  if (typeof name !== 'string' || !/^[A-Za-z0-9_-]+$/.test(name)) throw invalidSecret(option, name, 'a name of A-Z a-z 0-9 _ -');
  return { [parameter]: name };
}

/** `consul://:token@host:8500/namespace?dc=dc1&session=check`; `consuls://` for TLS. */
const SHAPE: StoreUrlShape = {
  schemes: ['consul'],
  secureSchemes: ['consuls'],
  parameters: ['dc', 'ns', 'session', 'connectTimeoutMs', 'lockDelayMs', 'minSessionTtlMs', 'watchWaitMs', 'maxBlockingQueries'],
  example: 'consul://:token@host:port/namespace, or consuls:// for TLS',
};

/** @throws The system's error if a file that `ca`, `cert` or `key` names cannot be read. */
function readUrl(text: string): ConsulOptions {
  const url = new StoreUrl(text, SHAPE);
  return {
    endpoint: url.hosts.join(','),
    ...url.sharedOptions,
    ...omitUndefined({
      token: tokenIn(url),
      datacenter: url.text('dc'),
      consulNamespace: url.text('ns'),
      session: url.oneOf('session', ['auto', 'check', 'ttl']),
      lockDelayMs: url.number('lockDelayMs'),
      minSessionTtlMs: url.number('minSessionTtlMs'),
      watchWaitMs: url.number('watchWaitMs'),
      maxBlockingQueries: url.number('maxBlockingQueries'),
    }),
  };
}

/** The token takes the place of a password. Consul has no users. */
function tokenIn(url: StoreUrl): string | undefined {
  if (url.user === undefined) return undefined;
  if (url.user.name !== '') throw url.invalidUser('given a token as :token@, with a colon before it');
  return url.user.password;
}
