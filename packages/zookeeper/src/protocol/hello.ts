/** The first record each way: the client asks for a session, and the server grants it. */

import { MalformedRecord, Reader, Writer } from './jute.ts';

/**
 * Names a session and proves its ownership. Whoever has both can take over the session or end it.
 */
export interface SessionIdentity {
  readonly id: bigint;
  readonly password: Uint8Array;
}

/**
 * An identity to show to servers. For `digest` it is `user:password`. No server rejects a wrong
 * digest: it only grants no rights.
 */
export interface Auth {
  readonly scheme: string;
  readonly auth: string | Uint8Array;
}

export interface Hello {
  /** The session to take over; undefined for a new one. */
  readonly identity: SessionIdentity | undefined;
  /** How long the session should last without a sign of life, in ms. */
  readonly timeoutMs: number;
  /**
   * The last transaction that this client has seen. A server that is behind it closes the
   * connection.
   */
  readonly lastZxid: bigint;
  readonly auths: readonly Auth[];
  /** A request to send together with the hello, before the server has answered. */
  readonly last?: Uint8Array;
}

/** What the server granted. */
export interface Welcome {
  readonly identity: SessionIdentity;
  /** In ms: 2 to 20 ticks of the server, unless it is configured otherwise. */
  readonly timeoutMs: number;
}

export interface HelloAnswer extends Welcome {
  readonly readOnly: boolean;
}

const PROTOCOL_VERSION = 0;
const PASSWORD_BYTES = 16;
const NEW_SESSION: SessionIdentity = { id: 0n, password: new Uint8Array(PASSWORD_BYTES) };

export function writeHello({ identity = NEW_SESSION, timeoutMs, lastZxid }: Hello): Uint8Array {
  const record = new Writer().int(PROTOCOL_VERSION).long(lastZxid).int(timeoutMs).long(identity.id).buffer(identity.password);
  // A server that can only serve reads is not enough.
  return record.bool(false).finish();
}

/** Throws `MalformedRecord`. A timeout of 0 or less: no such session, or a wrong password. */
export function readWelcome(record: Uint8Array): HelloAnswer {
  const reader = new Reader(record);
  const version = reader.int();
  if (version !== PROTOCOL_VERSION) throw new MalformedRecord(`the protocol has version ${version}`);
  const [timeoutMs, id, password] = [reader.int(), reader.long(), reader.buffer()];
  if (timeoutMs > 0 && (id === 0n || password.length !== PASSWORD_BYTES))
    throw new MalformedRecord('the session has no id, or no password');
  return { timeoutMs, identity: { id, password }, readOnly: reader.left > 0 && reader.bool() };
}
