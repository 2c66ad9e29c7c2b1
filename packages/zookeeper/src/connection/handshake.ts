/** The first words on a connection: which session it is for, and who the client is. */

import { Code, codeName } from '../protocol/codes.ts';
import type { Channel } from './channel.ts';
import { ExchangeError, notConnected } from './failure.ts';
import { AUTH, readHeader, requestHeader, Xid } from '../protocol/header.ts';
import { MalformedRecord, Reader, Writer } from '../protocol/jute.ts';

/** Names a session, and proves that it is one's own. Whoever has both can take the session over, or end it. */
export interface SessionIdentity {
  readonly id: bigint;
  readonly password: Uint8Array;
}

/** An identity to show to servers. `digest`: `user:password`, which no server ever refuses; it only gives no rights if it is wrong. */
export interface Auth {
  readonly scheme: string;
  readonly auth: string | Uint8Array;
}

export interface Hello {
  /** The session to take over; undefined for a new one. */
  readonly identity: SessionIdentity | undefined;
  /** How long the session should last without a sign of life, in ms. */
  readonly timeoutMs: number;
  /** The last transaction that this client has seen: a server that is behind it turns the client away. */
  readonly lastZxid: bigint;
  readonly auths: readonly Auth[];
  /** A request to send along, before the server has said anything. */
  readonly last?: Uint8Array;
}

/** What the server agreed to. */
export interface Welcome {
  readonly identity: SessionIdentity;
  /** Between twice and twenty times the server's tick, unless it was set up otherwise. */
  readonly timeoutMs: number;
}

const PROTOCOL_VERSION = 0;
const PASSWORD_BYTES = 16;
const NEW_SESSION: SessionIdentity = { id: 0n, password: new Uint8Array(PASSWORD_BYTES) };

export function writeHello({ identity = NEW_SESSION, timeoutMs, lastZxid }: Hello): Uint8Array {
  const record = new Writer().int(PROTOCOL_VERSION).long(lastZxid).int(timeoutMs).long(identity.id).buffer(identity.password);
  // Not content with a server that can only be read from.
  return record.bool(false).finish();
}

export interface HelloAnswer extends Welcome {
  readonly readOnly: boolean;
}

/** Throws `MalformedRecord`. A timeout of 0 or less says that there is no such session, or that this is not its password. */
export function readWelcome(record: Uint8Array): HelloAnswer {
  const reader = new Reader(record);
  const version = reader.int();
  if (version !== PROTOCOL_VERSION) throw new MalformedRecord(`the protocol has version ${version}`);
  const [timeoutMs, id, password] = [reader.int(), reader.long(), reader.buffer()];
  if (timeoutMs > 0 && (id === 0n || password.length !== PASSWORD_BYTES))
    throw new MalformedRecord('the session has no id, or no password');
  return { timeoutMs, identity: { id, password }, readOnly: reader.left > 0 && reader.bool() };
}

/**
 * Opens a session on a fresh channel, or takes it over, and shows the client's identities. Bounded by whoever destroys the channel. Rejects
 * with an `ExchangeError`, the channel destroyed: `notConnected`, or `expired`.
 */
export async function shakeHands(channel: Channel, hello: Hello): Promise<Welcome> {
  try {
    channel.send(writeHello(hello));
    if (hello.last !== undefined) channel.send(hello.last);
    const answer = readWelcome(await channel.next());
    const welcome = checkWelcome(answer, hello);
    channel.welcome();
    for (const auth of hello.auths) await authenticate(channel, auth);
    return welcome;
  } catch (error) {
    const reason = error instanceof ExchangeError ? asNotConnected(error) : foreign(error);
    channel.destroy(reason);
    throw reason;
  }
}

function checkWelcome({ timeoutMs, identity, readOnly }: HelloAnswer, hello: Hello): Welcome {
  if (timeoutMs <= 0) throw hello.identity === undefined ? turnedAway() : expired();
  // A server that can only be read from should have turned the client away.
  if (readOnly) throw notConnected('readOnly', 'the server has lost its quorum and serves reads only');
  if (hello.identity !== undefined && hello.identity.id !== identity.id)
    throw new MalformedRecord('the server answered with a session that was not asked for');
  return { identity, timeoutMs };
}

async function authenticate(channel: Channel, { scheme, auth }: Auth): Promise<void> {
  const bytes = typeof auth === 'string' ? new TextEncoder().encode(auth) : auth;
  channel.send(requestHeader(Xid.auth, AUTH).int(0).string(scheme).buffer(bytes).finish());
  const { xid, code } = readHeader(new Reader(await channel.next()));
  if (xid !== Xid.auth) throw new MalformedRecord(`an answer to ${xid} came where one to an identity belongs`);
  if (code !== Code.OK)
    throw notConnected('authFailed', `the server does not accept an identity of the scheme "${scheme}" (${codeName(code)})`);
}

// During the handshake nothing was asked of the server yet: whatever ends the connection leaves nothing open.
function asNotConnected(error: ExchangeError): ExchangeError {
  if (error.failure.kind === 'malformed') return foreign(error.cause);
  if (error.failure.kind !== 'cut') return error;
  return error.cause === undefined ? turnedAway() : notConnected('unreachable', error.message, error.cause);
}

function foreign(cause: unknown): ExchangeError {
  const reason = cause instanceof Error ? `: ${cause.message}` : '';
  return notConnected('foreign', `what answers is no ZooKeeper${reason}`, cause);
}

function turnedAway(): ExchangeError {
  const why = 'it is read-only, has no quorum, has too many clients, or is behind what this client has seen';
  return notConnected('turnedAway', `the server ended the connection in place of opening a session: ${why}`);
}

function expired(): ExchangeError {
  return new ExchangeError({ kind: 'expired', by: 'server' }, 'the server knows no such session, or not by this password');
}
