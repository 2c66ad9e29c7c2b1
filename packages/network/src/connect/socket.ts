/** TCP and TLS sockets. */

import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { Duplex } from 'node:stream';

import { onAbort } from '@incumbent/core/adapter';

import type { Endpoint } from './endpoint.ts';
import { tlsConnectOptions, type TlsOptions } from './tls.ts';
import { free } from '../bytes/byte-buffer.ts';
import { errorCode } from '../errors/verdict.ts';
import { omitUndefined } from '../options/omit-undefined.ts';

/** How to open a socket. By default, it is a TCP socket without probes. */
export interface SocketOptions {
  /** If given, the socket uses TLS. */
  readonly tls?: TlsOptions | undefined;
  /** The protocols to offer in the TLS handshake (ALPN), by their registered names. */
  readonly protocols?: readonly string[];
  /** TCP probes the connection after so many ms of silence. Default: it never does. */
  readonly probeAfterMs?: number;
}

/** Opens a byte stream to a server. The caller destroys a stream that opens after the abort. */
export type Connect = (endpoint: Endpoint, signal: AbortSignal) => Duplex | Promise<Duplex>;

/** The sockets that `connectSocket` has opened. Nobody else reads from them. */
const ownSockets = new WeakSet<Duplex>();

/** The garbage collector frees shorter chunks early enough. */
export const FREED_CHUNK_BYTES = 4_096;

/**
 * Frees the memory of a chunk that a stream has emitted, once all of its bytes were copied. The
 * garbage collector would let 64 MiB of chunks collect first. Does nothing to a chunk of a stream
 * that `connectSocket` has not opened: that chunk belongs to whoever made the stream.
 */
export function freeChunk(stream: Duplex, chunk: Uint8Array): void {
  if (ownSockets.has(stream)) free(chunk, FREED_CHUNK_BYTES);
}

function openSocket(endpoint: Endpoint, { tls, protocols, probeAfterMs }: SocketOptions): Socket {
  const { host, port } = endpoint;
  const probes = probeAfterMs === undefined ? {} : { keepAlive: true, keepAliveInitialDelay: probeAfterMs };
  const tcp = { host, port, noDelay: true, ...probes };
  return tls === undefined ? connectTcp(tcp) : openSecurely(tcp, tls, protocols);
}

/**
 * Resolves when the socket is connected and, with TLS, the server's certificate is checked. The
 * socket does not keep the process alive.
 *
 * @throws The signal's reason or the system's error. If the connection ends during the TLS
 * handshake, the error says so, because the system's error varies and does not mention TLS.
 */
export async function connectSocket(endpoint: Endpoint, options: SocketOptions, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const socket = openSocket(endpoint, options);
  ownSockets.add(socket);
  socket.unref();
  try {
    await untilEvent(socket, options.tls === undefined ? 'connect' : 'secureConnect', signal);
    return socket;
  } catch (error) {
    socket.destroy();
    if (options.tls !== undefined && errorCode(error) === 'ECONNRESET')
      throw new Error('the server ended the connection before TLS was agreed on, as one does that speaks none', { cause: error });
    throw error;
  }
}

function openSecurely(tcp: Endpoint, tls: TlsOptions, protocols: readonly string[] | undefined): TLSSocket {
  const alpn = omitUndefined({ ALPNProtocols: protocols && [...protocols] });
  return connectTls({ ...tcp, ...tlsConnectOptions(tcp.host, tls), ...alpn }).setNoDelay();
}

/**
 * Waits for an event of the stream, and resolves with the argument of the event.
 *
 * @throws The signal's reason, the stream's error, or an error that says that the server has ended
 * the connection.
 */
export async function untilEvent<T>(stream: Duplex, event: string, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const close = (): void => reject(new Error('the server ended the connection at once'));
  const cancel = onAbort(signal, () => reject(signal.reason));
  stream.once(event, resolve).once('error', reject).once('close', close);
  try {
    return await promise;
  } finally {
    cancel();
    stream.off(event, resolve).off('close', close);
    // The user of the stream adds a listener. An error after `destroy` must not end the process.
    stream.on('error', () => {});
    stream.off('error', reject);
  }
}
