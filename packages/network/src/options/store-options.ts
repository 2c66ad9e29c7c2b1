/** The options that every network adapter has, and their checks. */

import { checkClock, checkFunction, checkKnown, checkNumber, checkPath, invalidSecret } from '@incumbent/core/adapter';
import type { Clock } from '@incumbent/core';
import type { Socket } from 'node:net';

import type { Endpoint } from '../connect/endpoint.ts';
import { connectSocket, type SocketOptions } from '../connect/socket.ts';
import { checkTls, type TlsOptions } from '../connect/tls.ts';
import { accessOf } from './access.ts';

/**
 * The options that every network adapter has. `Connect` is the type of the adapter's option
 * `connect`. {@link readSharedOptions} checks them.
 */
export interface SharedOptions<Connect> {
  /** A path, before every key of the store. Default `incumbent`. */
  readonly namespace?: string | undefined;
  /** How long opening the store may take, in ms: 100 to 600,000. Default 5,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** Connects with TLS. Default: no TLS. Not beside `connect`. */
  readonly tls?: TlsOptions | undefined;
  /** Opens the byte stream to a server, with TLS or not. Default: a socket of this process. */
  readonly connect?: Connect | undefined;
  /** Default `systemClock`. */
  readonly clock?: Clock | undefined;
}

/** Opens a TCP or TLS socket. */
export type OpenSocket = (endpoint: Endpoint, signal: AbortSignal) => Promise<Socket>;

/** The checked options that every network adapter has, with their defaults. */
export interface SharedSettings<Connect> {
  /** `incumbent` by default. */
  readonly namespace: string;
  /** 100 to 600,000; 5,000 by default. */
  readonly connectTimeoutMs: number;
  /** The caller's own, or one that opens a TCP or TLS socket. */
  readonly connect: Connect | OpenSocket;
  readonly clock: Clock;
  /** The options as text for another process. Undefined if they contain the caller's functions. */
  readonly access: string | undefined;
}

/** What {@link readSharedOptions} needs to know of an adapter. */
export interface SharedOptionsShape extends Pick<SocketOptions, 'protocols' | 'probeAfterMs'> {
  /** The store's name, for messages. */
  readonly store: string;
  /** The names of all options of the adapter. Another name is a mistake. */
  readonly known: readonly string[];
}

/**
 * Checks the options that every adapter has, and fills in their defaults.
 *
 * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION`, also for an option that the
 * adapter does not know.
 */
export function readSharedOptions<Connect>(
  options: SharedOptions<Connect>,
  { store, known, ...socket }: SharedOptionsShape,
): SharedSettings<Connect> {
  if (typeof options !== 'object' || options === null) throw invalidSecret(store, options, 'a URL or an object of options');
  checkKnown(store, options, known);
  const { tls, connect } = options;
  if (tls !== undefined) checkTls(tls);
  if (connect !== undefined) checkFunction('connect', connect);
  checkTlsIsUsed('tls', tls, connect);
  return {
    namespace: checkPath('namespace', options.namespace ?? 'incumbent'),
    connectTimeoutMs: checkNumber('connectTimeoutMs', options.connectTimeoutMs, 5_000, { min: 100, max: 600_000 }),
    connect: connect ?? ((endpoint, signal) => connectSocket(endpoint, { tls, ...socket }, signal)),
    clock: checkClock(options.clock),
    access: accessOf(options),
  };
}

/**
 * Checks that there is no TLS beside `connect`: a store that uses the caller's stream as it is
 * would encrypt nothing. `option` is the name of the option with the TLS.
 *
 * @throws `TypeError` with the code `INVALID_OPTION`.
 */
export function checkTlsIsUsed(option: string, tls: TlsOptions | undefined, connect: unknown): void {
  if (tls === undefined || connect === undefined) return;
  throw invalidSecret(option, tls, 'left out beside connect, whose byte stream the store uses as it is');
}

/** A user of the store's own. */
export interface UserCredentials {
  readonly username: string;
  readonly password: string;
}

/**
 * Checks the credentials.
 *
 * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION`. The error does not contain
 * the password.
 */
export function checkCredentials(credentials: UserCredentials): UserCredentials {
  checkKnown('credentials', credentials, ['username', 'password']);
  const { username, password } = credentials;
  if (typeof username !== 'string' || username === '') throw invalidSecret('credentials.username', username, 'a name');
  if (typeof password !== 'string') throw invalidSecret('credentials.password', password, 'a string');
  return { username, password };
}
