/** What a transport over TCP is made with, checked. */

import {
  checkKnown,
  checkName,
  checkNumber,
  type Clock,
  invalidOption,
  type Logger,
  type Random,
  systemClock,
  systemRandom,
} from '@incumbent/core';
import { checkLogger } from '@incumbent/core/parts';
import { type Endpoint, parseEndpoint } from '@incumbent/network';
import type { Security } from './handshake.ts';
import { checkPeerTls, type PeerTls } from './tls.ts';

export interface TcpTransportOptions {
  /** Who this process is: one of `members`, and the only process that is. */
  readonly memberId: string;
  /** Where each member listens, this one included, as `host:port`; the port is 7400 if left out. The same for all members. */
  readonly members: Readonly<Record<string, string>>;
  /** Where this member listens, if that is not its own address as the others know it: `0.0.0.0:7400` for every address of the machine. */
  readonly listen?: string;
  /**
   * What all members know and nobody else does: 16 bytes at least, by chance (`openssl rand -hex 32`). They prove it to each other, and every message is
   * sealed by it; messages can be read on the way. Whoever knows it can be any member.
   */
  readonly secret?: string | Uint8Array;
  /** Certificates in its place: each member must have its own. */
  readonly tls?: PeerTls;
  /** True: neither of the two. Whoever reaches the port can be any member. */
  readonly insecure?: boolean;
  /**
   * How often a member asks another whether it still listens, in ms; three in a row without an answer end the connection, which is then made anew.
   * From 50 to 60,000. Default 1,000.
   */
  readonly keepaliveMs?: number;
  /** How long it may take until two members know who the other is, in ms: 100 to 60,000. Default 3,000. */
  readonly handshakeTimeoutMs?: number;
  /** Anything with debug, info, warn and error: pino fits. */
  readonly logger?: Logger;
  /** For tests. */
  readonly clock?: Clock;
  /** For tests: the jitter of reconnecting. Keys are made of better chance. */
  readonly random?: Random;
}

export interface TcpSettings {
  readonly memberId: string;
  readonly members: ReadonlyMap<string, Endpoint>;
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
  ...['memberId', 'members', 'listen', 'secret', 'tls', 'insecure'],
  ...['keepaliveMs', 'handshakeTimeoutMs', 'logger', 'clock', 'random'],
];
const DEFAULT_PORT = 7_400;
const LEAST_SECRET_BYTES = 16;

/** Throws a `TypeError` or `RangeError` (`INVALID_OPTION`, `INVALID_NAME`). */
export function resolveTcp(options: TcpTransportOptions): TcpSettings {
  checkKnown('TCP transport', options, known);
  const memberId = checkName('memberId', options.memberId);
  const members = checkMembers(options.members);
  const own = members.get(memberId);
  if (own === undefined) throw invalidOption('memberId', memberId, `one of the members: ${[...members.keys()].join(', ')}`);
  return {
    memberId,
    members,
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

function checkMembers(members: unknown): ReadonlyMap<string, Endpoint> {
  if (typeof members !== 'object' || members === null || Array.isArray(members))
    throw invalidOption('members', members, "an object: where each member listens, by its id, as { a: 'host:7400' }");
  return new Map(Object.entries(members).map(([id, endpoint]) => [checkName('members', id), parseEndpoint(endpoint, DEFAULT_PORT)]));
}

/** One of the three, by name: nobody is to be without security because of a variable that was not set. */
function securityOf({ secret, tls, insecure }: TcpTransportOptions): Security {
  if (insecure !== undefined && typeof insecure !== 'boolean') throw invalidOption('insecure', insecure, 'true or false');
  const given = [secret !== undefined, tls !== undefined, insecure === true].filter(Boolean).length;
  if (given === 0)
    throw invalidOption('secret', secret, 'given, or tls in its place; or insecure: true, and whoever reaches the port can be any member');
  if (given > 1) throw invalidOption('secret, tls and insecure', `${given} of them`, 'one of them, and not more');
  if (secret !== undefined) return { kind: 'secret', secret: checkSecret(secret) };
  if (tls === undefined) return { kind: 'insecure' };
  checkPeerTls(tls);
  return { kind: 'tls' };
}

function checkSecret(secret: unknown): Uint8Array {
  const bytes = typeof secret === 'string' ? Buffer.from(secret) : secret;
  // Never the value: it would end up in a log.
  if (!(bytes instanceof Uint8Array)) throw invalidOption('secret', typeof secret, 'a string or bytes');
  if (bytes.length < LEAST_SECRET_BYTES)
    throw invalidOption('secret', `${bytes.length} bytes`, `at least ${LEAST_SECRET_BYTES} bytes, by chance: openssl rand -hex 32`);
  return Uint8Array.from(bytes);
}
