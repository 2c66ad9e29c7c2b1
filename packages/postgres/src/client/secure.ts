/** TLS for PostgreSQL: a client asks for it on an open TCP connection. */

import type { Duplex } from 'node:stream';
import { connect, type TLSSocket } from 'node:tls';

import { type Endpoint, errorCode, tlsConnectOptions, type TlsOptions, untilEvent } from '@incumbent/network';

import { notConnected } from './failure.ts';

/** The message SSLRequest: its length, and a number in place of the version of the protocol. */
const SSL_REQUEST: Uint8Array = new Uint8Array([0, 0, 0, 8, 4, 210, 22, 47]);

/** The answer of a server that speaks TLS: the letter S, and nothing more. */
const WILLING = 'S';

/**
 * Resolves when the server's certificate is checked. Rejects with the signal's reason, with the
 * system's error, or with an `ExchangeError` for a server that does not speak TLS.
 */
export async function secure(stream: Duplex, { host }: Endpoint, tls: TlsOptions, signal: AbortSignal): Promise<TLSSocket> {
  stream.write(SSL_REQUEST);
  const answer = await untilEvent<Uint8Array>(stream, 'data', signal);
  // More bytes would be taken for a part of the encrypted stream, although nobody vouches for them.
  if (Buffer.from(answer).toString('latin1') !== WILLING) throw notConnected('foreign', 'the server does not speak TLS');
  const socket = connect({ socket: stream, host, ...tlsConnectOptions(host, tls) });
  try {
    await untilEvent(socket, 'secureConnect', signal);
    return socket;
  } catch (error) {
    socket.destroy();
    if (errorCode(error) === 'ECONNRESET') throw new Error('the server ended the connection before TLS was agreed on', { cause: error });
    throw error;
  }
}
