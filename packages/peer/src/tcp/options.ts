/** The options of a TCP transport, and their checks. */

import type { Clock, Logger, Random } from '@incumbent/core';
import {
  checkBoolean,
  checkClock,
  checkKnown,
  checkLogger,
  checkName,
  checkNumber,
  checkRandom,
  invalidOption,
  invalidSecret,
  invalidText,
} from '@incumbent/core/adapter';
import { type Endpoint, endpointName, parseEndpoint } from '@incumbent/network';
import type { Security } from './handshake.ts';
import { checkPeerTls, type PeerTls } from './tls.ts';

/**
 * The options of a `TcpTransport`. They need either `members` or `seeds`, and exactly one of
 * `secret`, `tls` and `insecure: true`.
 */
export interface TcpTransportOptions {
  /** The id of this process: one of `members`, if they are listed. No other process may have it. */
  readonly memberId: string;
  /**
   * The address at which each member listens, this one included, by member id: `host:port`. The
   * port defaults to 7400. The same for all members. The transport accepts connections of these
   * members only.
   */
  readonly members?: Readonly<Record<string, string>> | undefined;
  /**
   * For members that come and go: the addresses of some members, by member id, or a function that
   * returns them. The transport calls the function every 5 s. If a call takes longer than 10 s, the
   * transport says so, and calls the function again. The transport admits every process that proves
   * the secret, or has a certificate for its id.
   */
  readonly seeds?: Seeds | undefined;
  /**
   * With `seeds`: the address at which other members reach this one, as `host:port`. Default: this
   * member's address in `seeds`, if they are an object.
   */
  readonly address?: string | undefined;
  /**
   * The address at which this member listens, as `host:port`. `0.0.0.0:7400` listens on all IPv4
   * addresses of the machine. Default: the address at which other members reach this one.
   */
  readonly listen?: string | undefined;
  /**
   * A secret that all members share and keep: at least 16 random bytes, for example from `openssl
   * rand -hex 32`. Members prove to each other that they know it, and authenticate every message
   * with it. Messages are not encrypted. A process that knows the secret can act as any member.
   *
   * During a rotation, a list of two. This member proves the first one when it dials, and accepts
   * both from members that dial it.
   */
  readonly secret?: PeerSecret | readonly PeerSecret[] | undefined;
  /** Certificates instead of a secret. Each member needs its own. Messages are encrypted. */
  readonly tls?: PeerTls | undefined;
  /** True: no security. A process that reaches the port can act as any member. Default: false. */
  readonly insecure?: boolean | undefined;
  /**
   * Time between pings on a connection, in ms. After about three pings without an answer, the
   * connection ends and the transport reconnects. 50 to 60,000. Default: 1,000.
   */
  readonly keepaliveMs?: number | undefined;
  /**
   * The longest time for two members to authenticate each other, in ms. 100 to 60,000. Default:
   * 3,000.
   */
  readonly handshakeTimeoutMs?: number | undefined;
  /** Any object with debug, info, warn and error; a pino logger fits. Default: none. */
  readonly logger?: Logger | undefined;
  /** For tests and simulation. */
  readonly clock?: Clock | undefined;
  /**
   * For tests and simulation: the jitter of reconnecting. Keys and nonces always come from the
   * system's secure source.
   */
  readonly random?: Random | undefined;
}

/** A secret of at least 16 bytes. A string stands for its bytes in UTF-8. */
export type PeerSecret = string | Uint8Array;

/** The addresses of members as `host:port`, by member id, or a function that returns them. */
export type Seeds = Readonly<Record<string, string>> | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

/** The members that may take part. */
export type GroupOptions =
  | { readonly kind: 'listed'; readonly members: ReadonlyMap<string, Endpoint> }
  | {
      readonly kind: 'open';
      readonly seeds: () => Promise<ReadonlyMap<string, Endpoint>>;
      readonly isFixed: boolean;
      readonly address: string;
    };

export interface TcpSettings {
  readonly memberId: string;
  readonly group: GroupOptions;
  readonly listen: Endpoint;
  readonly security: Security;
  readonly tls: PeerTls | undefined;
  readonly keepaliveMs: number;
  readonly handshakeTimeoutMs: number;
  readonly logger: Logger | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

const known = [
  ...['memberId', 'members', 'seeds', 'address', 'listen', 'secret', 'tls', 'insecure'],
  ...['keepaliveMs', 'handshakeTimeoutMs', 'logger', 'clock', 'random'],
];
const DEFAULT_PORT = 7_400;
const LEAST_SECRET_BYTES = 16;
const MOST_SECRETS = 2;

/** @throws `TypeError` or `RangeError` with the code `INVALID_OPTION` or `INVALID_NAME`. */
export function resolveTcp(options: TcpTransportOptions): TcpSettings {
  checkKnown('TCP transport', options, known);
  const memberId = checkName('memberId', options.memberId);
  const [group, own] = groupOf(memberId, options);
  return {
    memberId,
    group,
    listen: options.listen === undefined ? own : parseEndpoint(options.listen, own.port),
    security: securityOf(options),
    tls: options.tls,
    keepaliveMs: checkNumber('keepaliveMs', options.keepaliveMs, 1_000, { min: 50, max: 60_000 }),
    handshakeTimeoutMs: checkNumber('handshakeTimeoutMs', options.handshakeTimeoutMs, 3_000, { min: 100, max: 60_000 }),
    logger: checkLogger(options.logger),
    clock: checkClock(options.clock),
    random: checkRandom(options.random),
  };
}

/** Returns the members that may take part, and this member's own address. */
function groupOf(memberId: string, { members, seeds, address }: TcpTransportOptions): readonly [GroupOptions, Endpoint] {
  if ((members === undefined) === (seeds === undefined))
    throw invalidSecret(
      'members and seeds',
      members,
      'one of them: members that are listed, or that come and go',
      `${members === undefined ? 'none' : 'both'} of them`,
    );
  return seeds === undefined ? listed(memberId, checkEndpoints('members', members), address) : open(memberId, seeds, address);
}

function listed(memberId: string, members: ReadonlyMap<string, Endpoint>, address: unknown): readonly [GroupOptions, Endpoint] {
  const own = members.get(memberId);
  if (own === undefined) throw invalidText('memberId', memberId, `one of the members: ${[...members.keys()].join(', ')}`);
  if (address !== undefined) throw invalidOption('address', address, 'left out, as members has it');
  return [{ kind: 'listed', members }, own];
}

function open(memberId: string, seeds: Seeds, address: string | undefined): readonly [GroupOptions, Endpoint] {
  const fixed = typeof seeds === 'function' ? undefined : checkEndpoints('seeds', seeds);
  const own = address === undefined ? fixed?.get(memberId) : parseEndpoint(address, DEFAULT_PORT);
  if (own === undefined) throw invalidOption('address', address, "given, as host:port, unless seeds has this member's");
  const find = async (): Promise<ReadonlyMap<string, Endpoint>> =>
    fixed ?? (typeof seeds === 'function' ? checkEndpoints('seeds', await seeds()) : new Map());
  return [{ kind: 'open', seeds: find, isFixed: fixed !== undefined, address: endpointName(own) }, own];
}

/** Reads the address that another member reports. Undefined: it is empty or not valid. */
export function endpointOf(text: string): Endpoint | undefined {
  try {
    return text === '' ? undefined : parseEndpoint(text, DEFAULT_PORT);
  } catch {
    return undefined;
  }
}

function checkEndpoints(name: string, endpoints: unknown): ReadonlyMap<string, Endpoint> {
  if (typeof endpoints !== 'object' || endpoints === null || Array.isArray(endpoints))
    throw invalidSecret(name, endpoints, "an object: where each member listens, by its id, as { a: 'host:7400' }");
  return new Map(Object.entries(endpoints).map(([id, endpoint]) => [checkName(name, id), parseEndpoint(endpoint, DEFAULT_PORT)]));
}

/**
 * Requires exactly one of the three. A variable that was not set must not silently turn off
 * security.
 */
function securityOf({ secret, tls, insecure }: TcpTransportOptions): Security {
  const isInsecure = checkBoolean('insecure', insecure, false);
  const given = [secret !== undefined, tls !== undefined, isInsecure].filter(Boolean).length;
  if (given === 0)
    throw invalidSecret('secret', secret, 'given, or tls in its place; or insecure: true, and whoever reaches the port can be any member');
  if (given > 1) throw invalidSecret('secret, tls and insecure', given, 'one of them, and not more', `${given} of them`);
  if (secret !== undefined) return { kind: 'secret', secrets: checkSecrets(secret) };
  if (tls === undefined) return { kind: 'insecure' };
  checkPeerTls(tls);
  return { kind: 'tls' };
}

function checkSecrets(secret: unknown): readonly [Uint8Array, ...Uint8Array[]] {
  const list: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
  const [proved, ...accepted] = list;
  if (list.length === 0 || list.length > MOST_SECRETS)
    throw invalidSecret('secret', secret, 'one secret, or a list of one or two during a rotation', `a list of ${list.length}`);
  return [checkSecret(proved), ...accepted.map(checkSecret)];
}

function checkSecret(secret: unknown): Uint8Array {
  const bytes = typeof secret === 'string' ? Buffer.from(secret) : secret;
  if (!(bytes instanceof Uint8Array)) throw invalidSecret('secret', secret, 'a string or bytes');
  if (bytes.length < LEAST_SECRET_BYTES)
    throw invalidSecret('secret', secret, `at least ${LEAST_SECRET_BYTES} bytes, by chance: openssl rand -hex 32`, `${bytes.length} bytes`);
  return Uint8Array.from(bytes);
}
