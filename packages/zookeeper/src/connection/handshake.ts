/** The handshake on a new connection: which session it is for, and who the client is. */

import { ExchangeError, notConnected } from '../errors.ts';
import { Code, codeName } from '../protocol/codes.ts';
import { AUTH, readHeader, requestHeader, Xid } from '../protocol/frame.ts';
import { readWelcome, writeHello, type Auth, type Hello, type HelloAnswer, type Welcome } from '../protocol/hello.ts';
import { MalformedRecord, Reader } from '../protocol/jute.ts';
import type { Channel } from './channel.ts';

/**
 * Opens or takes over a session on a new channel, and shows the client's identities. Takes no
 * longer than the channel lives: the caller destroys it at a timeout. Rejects with an
 * `ExchangeError` whose failure is `notConnected` or `expired`; the channel is then destroyed.
 */
export async function shakeHands(channel: Channel, hello: Hello): Promise<Welcome> {
  try {
    channel.send(writeHello(hello));
    if (hello.last !== undefined) channel.send(hello.last);
    const answer = readWelcome(await channel.next());
    const welcome = checkWelcome(answer, hello);
    channel.acceptLongRecords();
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
  // A read-only server should have closed the connection, because the hello does not allow one.
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

// The client has not sent a request yet, so a connection that ends now leaves no unknown outcome.
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
  const why = 'it expects TLS (zookeepers:), is read-only, has no quorum, has too many clients, or is behind what this client has seen';
  return notConnected('turnedAway', `the server ended the connection in place of opening a session: ${why}`);
}

function expired(): ExchangeError {
  return new ExchangeError({ kind: 'expired', by: 'server' }, 'the server knows no such session, or not by this password');
}
