/** What a transport over TCP is made with, checked. */

import { type Clock, type Logger, type Random, systemClock, systemRandom } from '@incumbent/core';
import { checkKnown, checkLogger, checkName, checkNumber, invalidOption, invalidSecret, invalidText } from '@incumbent/core/adapter';
import { type Endpoint, endpointName, parseEndpoint } from '@incumbent/network';
import type { Security } from './handshake.ts';
import { checkPeerTls, type PeerTls } from './tls.ts';

export interface TcpTransportOptions {
  /** Who this process is: one of `members`, if they are listed, and the only process that is. */
  readonly memberId: string;
  /**
   * Where each member listens, this one included, as `host:port`; the port is 7400 if left out. The
   * same for all members. This or `seeds`: with `members` nobody else is heard.
   */
  readonly members?: Readonly<Record<string, string>>;
  /**
   * For members that come and go: where some of them listen, by their ids, likewise; or what finds
   * that out, asked again every few seconds. Whoever knows the secret, or has a certificate of its
   * id, is heard.
   */
  readonly seeds?: Seeds;
  /**
   * With `seeds`: where the others reach this member, as `host:port`. Default: what `seeds` says of
   * it.
   */
  readonly address?: string;
  /**
   * Where this member listens, if that is not its own address as the others know it: `0.0.0.0:7400`
   * for every address of the machine.
   */
  readonly listen?: string;
  /**
   * A secret that all members know and nobody else does: at least 16 random bytes (`openssl rand
   * -hex 32`). Members prove it to each other and seal every message with it; messages can be read
   * on the way. Whoever knows the secret can be any member.
   *
   * During a rotation, a list of two: this member proves the first one when it connects, and
   * accepts both from members that connect to it.
   */
  readonly secret?: PeerSecret | readonly PeerSecret[];
  /** Certificates in its place: each member must have its own. */
  readonly tls?: PeerTls;
  /** True: neither of the two. Whoever reaches the port can be any member. */
  readonly insecure?: boolean;
  /**
   * How often a member asks another whether it still listens, in ms; three in a row without an
   * answer end the connection, which is then made anew. From 50 to 60,000. Default 1,000.
   */
  readonly keepaliveMs?: number;
  /**
   * How long it may take until two members know who the other is, in ms: 100 to 60,000. Default
   * 3,000.
   */
  readonly handshakeTimeoutMs?: number;
  /** Anything with debug, info, warn and error: pino fits. */
  readonly logger?: Logger;
  /** For tests. */
  readonly clock?: Clock;
  /** For tests: the jitter of reconnecting. Keys are made of better chance. */
  readonly random?: Random;
}

export type PeerSecret = string | Uint8Array;

/** Where members listen, by their ids. */
export type Seeds = Readonly<Record<string, string>> | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

/** Who may take part. */
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

/** Throws a `TypeError` or `RangeError` (`INVALID_OPTION`, `INVALID_NAME`). */
export function resolveTcp(options: TcpTransportOptions): TcpSettings {
  checkKnown('TCP transport', options, known);
  const memberId = checkName('memberId', options.memberId);
  const [group, own] = companyOf(memberId, options);
  return {
    memberId,
    group,
    listen: options.listen === undefined ? own : parseEndpoint(options.listen, own.port),
    security: securityOf(options),
    tls: options.tls,
    keepaliveMs: checkNumber('keepaliveMs', options.keepaliveMs, 1_000, { min: 50, max: 60_000 }),
    handshakeTimeoutMs: checkNumber('handshakeTimeoutMs', options.handshakeTimeoutMs, 3_000, { min: 100, max: 60_000 }),
    logger: checkLogger(options.logger),
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
  };
}

/** And where this member is among them. */
function companyOf(memberId: string, { members, seeds, address }: TcpTransportOptions): readonly [GroupOptions, Endpoint] {
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

/** Where somebody says that a member is; undefined: nowhere. */
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
 * One of the three, by name: nobody is to be without security because of a variable that was not
 * set.
 */
function securityOf({ secret, tls, insecure }: TcpTransportOptions): Security {
  if (insecure !== undefined && typeof insecure !== 'boolean') throw invalidOption('insecure', insecure, 'true or false');
  const given = [secret !== undefined, tls !== undefined, insecure === true].filter(Boolean).length;
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
