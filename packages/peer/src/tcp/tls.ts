/**
 * TLS between members: both have a certificate, of an authority that all of them trust, and its
 * name says which member it is.
 */

import { isIP, type Socket } from 'node:net';
import { connect, createServer, type Server, type TLSSocket } from 'node:tls';
import { checkFunction, checkKnown, invalidOption, invalidSecret } from '@incumbent/core/adapter';
import {
  certificatesOf,
  checkTls,
  describeError,
  type Endpoint,
  errorCode,
  isDistrust,
  readsFiles,
  type TlsOptions,
} from '@incumbent/network';
import { Refused } from './refusal.ts';

export interface PeerTls extends Pick<TlsOptions, 'ca' | 'cert' | 'key'> {
  /** Whom to trust, in PEM: the authority of the members' certificates, and no other. */
  readonly ca: NonNullable<TlsOptions['ca']>;
  /** This member's certificate, in PEM: to be shown as a client and as a server. */
  readonly cert: NonNullable<TlsOptions['cert']>;
  readonly key: NonNullable<TlsOptions['key']>;
  /**
   * The name that a member's certificate must have: one of its DNS names, or its common name if it
   * has none; wildcards do not count. Default: the member's id.
   */
  readonly nameOf?: (memberId: string) => string;
}

/** Throws a `TypeError` or `RangeError` (`INVALID_OPTION`). */
export function checkPeerTls(tls: PeerTls): void {
  if (typeof tls !== 'object' || tls === null) throw invalidSecret('tls', tls, 'an object with ca, cert and key');
  checkKnown('tls', tls, ['ca', 'cert', 'key', 'nameOf']);
  const { nameOf, ...certificates } = tls;
  if (nameOf !== undefined) checkFunction('nameOf', nameOf);
  checkTls(certificates);
  for (const name of ['ca', 'cert', 'key'] as const)
    if (certificates[name] === undefined)
      throw invalidOption(`tls.${name}`, undefined, 'given: members know each other by their certificates');
}

/** The listening side. */
export class TlsDoor {
  readonly #tls: PeerTls;
  readonly #server: Server;
  readonly #waiting = new Map<string, PromiseWithResolvers<TLSSocket>>();

  /** Throws where OpenSSL cannot read a certificate or a key. */
  constructor(tls: PeerTls) {
    this.#tls = tls;
    // Whom Node would refuse it would end without saying why: so it is judged here.
    this.#server = createServer({ ...certificatesOf(tls), requestCert: true, rejectUnauthorized: false });
    this.#server.on('secureConnection', (socket) => {
      const secured = this.#waiting.get(addressOf(socket));
      if (socket.authorized) return secured?.resolve(socket);
      socket.destroy();
      return secured?.reject(new Refused('certificate', { tls: String(socket.authorizationError) }));
    });
    this.#server.on('tlsClientError', (error, socket) => this.#waiting.get(addressOf(socket))?.reject(refusalOf(error)));
  }

  /**
   * Resolves with the socket within, the certificate trusted. Rejects with a `Refused`, or when the
   * connection is over.
   */
  async secure(raw: Socket): Promise<Socket> {
    const address = addressOf(raw);
    const secured = Promise.withResolvers<TLSSocket>();
    this.#waiting.set(address, secured);
    raw.once('close', () => secured.reject(new Error('the other side ended the connection')));
    try {
      this.#readAgain();
      this.#server.emit('connection', raw);
      return await secured.promise;
    } finally {
      this.#waiting.delete(address);
    }
  }

  /**
   * The files of certificates may be renewed. While they cannot be used, the door shows the last
   * ones that could.
   */
  #readAgain(): void {
    if (!readsFiles(this.#tls)) return;
    try {
      this.#server.setSecureContext(certificatesOf(this.#tls));
    } catch {}
  }
}

/** The dialling side. Resolves when TLS stands, whoever is at the other end. */
export async function connectByTls({ host, port }: Endpoint, tls: PeerTls, signal: AbortSignal): Promise<TLSSocket> {
  // Who it is, its certificate says; the name of its host is nobody's business. And nothing in the
  // environment makes it trust anybody else.
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const socket = connect({
    ...{ host, port, ...servername },
    ...certificatesOf(tls),
    ...{ rejectUnauthorized: true, checkServerIdentity: () => undefined },
  });
  const stood = Promise.withResolvers<void>();
  const abort = (): void => void socket.destroy(signal.reason instanceof Error ? signal.reason : undefined);
  signal.addEventListener('abort', abort, { once: true });
  socket.unref().setNoDelay();
  socket.once('secureConnect', () => stood.resolve());
  socket.once('close', () => stood.reject(new Error('the other side ended the connection')));
  socket.on('error', (error) => stood.reject(refusalOf(error)));
  try {
    await stood.promise;
    return socket;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Why the certificate at the other end is not this member's; undefined: it is. */
export function judgeName(socket: TLSSocket, memberId: string, { nameOf = String }: PeerTls): Refused | undefined {
  const name = nameOf(memberId);
  const certificate = socket.getPeerX509Certificate();
  const shown = certificate?.checkHost(name, { subject: 'default', wildcards: false });
  // The name as it stands there: letters count as they are, and ".name" stands for itself alone.
  if (shown === name) return undefined;
  return new Refused('certificate', { from: memberId, expected: name, shown: certificate?.subjectAltName ?? certificate?.subject });
}

/** What TLS itself has against the other end; what the system says is passed on. */
function refusalOf(error: unknown): unknown {
  const facts = { tls: describeError(error) };
  if (isDistrust(error)) return new Refused('certificate', facts);
  return errorCode(error).startsWith('ERR_SSL') ? new Refused('notThisProtocol', facts) : error;
}

/** Of the other end: no other connection to this port has the same now. */
function addressOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
