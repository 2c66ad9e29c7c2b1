/** The byte stream below the protocol. */

import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type SecureContextOptions } from 'node:tls';
import type { Duplex } from 'node:stream';

import type { Endpoint } from './endpoint.ts';

export interface TlsOptions {
  /** Whom to trust, in PEM; in place of the certificate authorities that come with Node. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[];
  /** This client's own certificate and its key, in PEM, where servers ask for one. */
  readonly cert?: string | Uint8Array;
  readonly key?: string | Uint8Array;
  /** The name that the server's certificate must have, where it is not the endpoint's host. */
  readonly servername?: string;
  /** False trusts any server, whoever it is. True by default. */
  readonly rejectUnauthorized?: boolean;
}

/** Opens a byte stream to a server. One that resolves after the signal's abort is destroyed by whoever asked. */
export type Connect = (endpoint: Endpoint, signal: AbortSignal) => Duplex | Promise<Duplex>;

/**
 * Connects by TCP, or by TLS if that is set. Resolves when the stream is ready, the server's certificate checked; rejects with the system's
 * own error, or the signal's reason. The socket does not keep the process alive.
 */
export async function connectSocket(endpoint: Endpoint, tls: TlsOptions | undefined, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const socket = tls === undefined ? connectTcp({ ...endpoint, noDelay: true }) : connectSecurely(endpoint, tls);
  socket.unref();
  try {
    await ready(socket, tls === undefined ? 'connect' : 'secureConnect', signal);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function connectSecurely(endpoint: Endpoint, tls: TlsOptions): Socket {
  const { servername, rejectUnauthorized = true } = tls;
  const name = servername === undefined ? {} : { servername };
  return connectTls({ ...endpoint, rejectUnauthorized, ...name, ...certificates(tls) }).setNoDelay();
}

async function ready(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = (): void => reject(signal.reason);
  const close = (): void => reject(new Error('the server ended the connection at once'));
  signal.addEventListener('abort', abort, { once: true });
  socket.once(event, resolve).once('error', reject).once('close', close);
  try {
    await promise;
  } finally {
    signal.removeEventListener('abort', abort);
    socket.off(event, resolve).off('close', close);
    // Whoever takes the socket over listens too; an error of a destroyed one must not end the process.
    socket.on('error', () => {});
    socket.off('error', reject);
  }
}

function certificates({ ca, cert, key }: TlsOptions): SecureContextOptions {
  const authorities = typeof ca === 'string' || ca instanceof Uint8Array ? [ca] : ca;
  return {
    ...(authorities === undefined ? {} : { ca: authorities.map(pem) }),
    ...(cert === undefined ? {} : { cert: pem(cert) }),
    ...(key === undefined ? {} : { key: pem(key) }),
  };
}

function pem(value: string | Uint8Array): string | Buffer {
  return typeof value === 'string' ? value : Buffer.from(value);
}
