/**
 * The handshake in which two members prove their ids to each other. The dialling member sends its
 * id and that of the member it wants. The listening member sends a challenge. Then each side proves
 * that it knows the secret, the dialling side first. The proofs cover both earlier messages, which
 * contain a random number of each side. So a message of an earlier connection cannot be replayed. A
 * dialling process that does not know the secret receives nothing by which it could guess the
 * secret offline.
 */

import { randomBytes } from 'node:crypto';
import { decodeRecord } from './codec.ts';
import { Refused, type TcpRefusalReason, noRefusals } from './refusal.ts';
import { isEqual, type Seal, SharedKeys, type Side, unsealed } from './seal.ts';
import type { Wire } from './wire.ts';

/** The longest frame of a handshake. */
export const HANDSHAKE_BYTES = 1_024;
const NONCE_BYTES = 32;
const INCARNATION_BYTES = 16;

/**
 * How members authenticate each other. A member proves the first of its secrets, and accepts all of
 * them.
 */
export type Security =
  | { readonly kind: 'secret'; readonly secrets: readonly [Uint8Array, ...Uint8Array[]] }
  | { readonly kind: 'tls' }
  | { readonly kind: 'insecure' };

/** This process. */
export interface MemberIdentity {
  readonly memberId: string;
  /** Random, and different for each process. */
  readonly incarnation: string;
  readonly security: Security;
}

/** The authenticated other side of a connection. */
export interface Handshake {
  readonly memberId: string;
  readonly incarnation: string;
  readonly theirs: Seal;
  readonly ours: Seal;
}

/** The checks of the listening member. Each returns why it refuses the connection, or undefined. */
export interface HandshakeChecks {
  /** Checks a claimed id before it is proved. */
  claimed(from: string, to: string): Refused | undefined;
  /** Checks an id after it is proved. */
  proved(from: string, incarnation: string): Refused | undefined;
}

interface Hello {
  readonly from: string;
  readonly to: string;
  readonly incarnation: string;
  readonly security: string;
}

export function newIncarnation(): string {
  return randomBytes(INCARNATION_BYTES).toString('hex');
}

/**
 * The dialling side of the handshake. Rejects with a `Refused`, or with the reason why the
 * connection ended.
 */
export async function handshakeAsDialer(wire: Wire, { memberId, incarnation, security }: MemberIdentity, to: string): Promise<Handshake> {
  const hello = encode({ type: 'hello', from: memberId, to, incarnation, nonce: nonce(), security: security.kind });
  wire.write(hello);
  const challenge = await wire.read();
  const { incarnation: theirs } = readChallenge(challenge);
  const keys = new Keys(secretsOf(security)[0], [hello, challenge]);
  wire.write(encode({ type: 'proof', proof: keys.proof('dialer') }));
  const { proof } = readMessage('welcome', await wire.read());
  if (!keys.isProof('listener', proof)) throw new Refused('wrongSecret');
  return { memberId: to, incarnation: theirs, theirs: keys.seal('listener'), ours: keys.seal('dialer') };
}

/**
 * The listening side of the handshake. Rejects in the same way. If the other side has sent its id,
 * it receives the reason of a refusal.
 */
export async function handshakeAsListener(wire: Wire, self: MemberIdentity, checks: HandshakeChecks): Promise<Handshake> {
  const hello = await wire.read();
  const { from, to, incarnation, security } = readHello(hello);
  try {
    if (security !== self.security.kind) throw new Refused('security', { theirs: security, ours: self.security.kind });
    refuseIf(checks.claimed(from, to));
    const challenge = encode({ type: 'challenge', incarnation: self.incarnation, nonce: nonce() });
    wire.write(challenge);
    const { proof } = readMessage('proof', await wire.read());
    const accepted = secretsOf(self.security).map((secret) => new Keys(secret, [hello, challenge]));
    const keys = accepted.find((each) => each.isProof('dialer', proof));
    if (keys === undefined) throw new Refused('wrongSecret');
    refuseIf(checks.proved(from, incarnation));
    wire.write(encode({ type: 'welcome', proof: keys.proof('listener') }));
    return { memberId: from, incarnation, theirs: keys.seal('dialer'), ours: keys.seal('listener') };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const refusal = new Refused(error.reason, { ...error.facts, from });
    wire.end(encode({ type: 'refused', reason: error.reason }), refusal);
    throw refusal;
  }
}

/** The secrets that a member accepts. Holds one `undefined` if the members share none. */
function secretsOf(security: Security): readonly [Uint8Array | undefined, ...Uint8Array[]] {
  return security.kind === 'secret' ? security.secrets : [undefined];
}

/**
 * The keys that the members derive from their secret. Without a secret, proofs are empty and frames
 * are not sealed.
 */
class Keys {
  readonly #keys: SharedKeys | undefined;

  constructor(secret: Uint8Array | undefined, transcript: readonly Uint8Array[]) {
    this.#keys = secret === undefined ? undefined : new SharedKeys(secret, transcript);
  }

  proof(side: Side): string {
    return this.#keys?.proof(side).toString('hex') ?? '';
  }

  isProof(side: Side, proof: unknown): boolean {
    return typeof proof === 'string' && isEqual(Buffer.from(proof), Buffer.from(this.proof(side)));
  }

  seal(side: Side): Seal {
    return this.#keys?.seal(side) ?? unsealed;
  }
}

function refuseIf(refused: Refused | undefined): void {
  if (refused !== undefined) throw refused;
}

function encode(fields: Readonly<Record<string, string>>): Buffer {
  return Buffer.from(JSON.stringify(fields));
}

function nonce(): string {
  return randomBytes(NONCE_BYTES).toString('hex');
}

function isHex(value: unknown, bytes: number): value is string {
  return typeof value === 'string' && value.length === 2 * bytes && /^[\da-f]*$/.test(value);
}

/** Reads a handshake message of this type. Throws `Refused`. */
function readMessage(type: string, frame: Uint8Array): Readonly<Record<string, unknown>> {
  const fields = decodeRecord(frame);
  if (fields?.['type'] === 'refused') throw new Refused('refusedThere', { there: readReason(fields['reason']) });
  if (fields?.['type'] !== type) throw new Refused('malformed', { expected: type });
  return fields;
}

function readHello(frame: Uint8Array): Hello {
  const { from, to, incarnation, nonce: number, security } = readMessage('hello', frame);
  const isText = typeof from === 'string' && typeof to === 'string' && typeof security === 'string';
  if (!isText || !isHex(incarnation, INCARNATION_BYTES) || !isHex(number, NONCE_BYTES))
    throw new Refused('malformed', { expected: 'hello' });
  return { from, to, incarnation, security };
}

function readChallenge(frame: Uint8Array): { readonly incarnation: string } {
  const { incarnation, nonce: number } = readMessage('challenge', frame);
  if (!isHex(incarnation, INCARNATION_BYTES) || !isHex(number, NONCE_BYTES)) throw new Refused('malformed', { expected: 'challenge' });
  return { incarnation };
}

/**
 * The other side has not proved its id, so do not pass on a reason that this version does not know.
 */
function readReason(reason: unknown): TcpRefusalReason | 'unknown' {
  return isReason(reason) ? reason : 'unknown';
}

function isReason(reason: unknown): reason is TcpRefusalReason {
  return typeof reason === 'string' && Object.hasOwn(noRefusals, reason);
}
