/**
 * TLS between members. Both sides have a certificate from an authority that all members trust. The
 * certificate's name says which member it belongs to.
 */

import { constants } from 'node:crypto';
import { isIP, type Socket } from 'node:net';
import {
  connect,
  createSecureContext,
  createServer,
  type SecureContext,
  type SecureContextOptions,
  type Server,
  type TLSSocket,
} from 'node:tls';
import type { Clock } from '@incumbent/core';
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

/**
 * Certificates for TLS between members. All of them come from authorities that all members trust,
 * and the name in each says which member it belongs to.
 */
export interface PeerTls extends Pick<TlsOptions, 'ca' | 'cert' | 'key'> {
  /** The authorities to trust, in PEM. No other authority is trusted. */
  readonly ca: NonNullable<TlsOptions['ca']>;
  /** This member's certificate, in PEM. It must be valid both for clients and for servers. */
  readonly cert: NonNullable<TlsOptions['cert']>;
  readonly key: NonNullable<TlsOptions['key']>;
  /**
   * Returns the name that a member's certificate must have: one of its DNS names, or its common
   * name if it has no DNS name. Wildcards do not match. Default: the member's id.
   */
  readonly nameOf?: ((memberId: string) => string) | undefined;
}

/** @throws `TypeError` or `RangeError` with the code `INVALID_OPTION`. */
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

/**
 * How often the certificate files are read again at most, in ms. Everybody who reaches the port can
 * open connections, and the files are read synchronously.
 */
const READ_EVERY_MS = 1_000;

/** Decides when the certificate files, which may have been renewed, are due to be read again. */
class Rereading {
  readonly #readsFiles: boolean;
  readonly #clock: Clock;
  #readAtMs: number;

  /** The files have just been read for the first time. */
  constructor(tls: PeerTls, clock: Clock) {
    this.#readsFiles = readsFiles(tls);
    this.#clock = clock;
    this.#readAtMs = clock.monotonic();
  }

  /** If it returns true, the caller reads the files. */
  isDue(): boolean {
    const nowMs = this.#clock.monotonic();
    if (!this.#readsFiles || nowMs - this.#readAtMs < READ_EVERY_MS) return false;
    this.#readAtMs = nowMs;
    return true;
  }
}

/** The listening side. */
export class TlsListener {
  readonly #tls: PeerTls;
  readonly #rereading: Rereading;
  readonly #server: Server;
  readonly #waiting = new Map<string, PromiseWithResolvers<TLSSocket>>();

  /** Throws if OpenSSL cannot read a certificate or a key. */
  constructor(tls: PeerTls, clock: Clock) {
    this.#tls = tls;
    // Node would close a connection with an untrusted certificate without giving the reason. So
    // check the certificate here.
    this.#server = createServer({ ...listenerContext(tls), requestCert: true, rejectUnauthorized: false });
    this.#rereading = new Rereading(tls, clock);
    this.#server.on('secureConnection', (socket) => {
      const secured = this.#waiting.get(addressOf(socket));
      if (socket.authorized) return secured?.resolve(socket);
      socket.destroy();
      return secured?.reject(new Refused('certificate', { tls: String(socket.authorizationError) }));
    });
    this.#server.on('tlsClientError', (error, socket) => this.#waiting.get(addressOf(socket))?.reject(refusalOf(error)));
  }

  /**
   * Resolves with the socket inside TLS, once the other side's certificate is trusted. Rejects with
   * a `Refused`, or when the connection ends.
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
   * Reads the certificate files again if they are due. While they are not usable, keeps the last
   * certificates that were.
   */
  #readAgain(): void {
    if (!this.#rereading.isDue()) return;
    try {
      this.#server.setSecureContext(listenerContext(this.#tls));
    } catch {}
  }
}

/**
 * Issues no session tickets. A process that resumes a session shows no certificate, and OpenSSL
 * accepts it although the certificate of that session may have expired.
 */
function listenerContext(tls: PeerTls): SecureContextOptions {
  return { ...certificatesOf(tls), secureOptions: constants.SSL_OP_NO_TICKET };
}

/** The dialling side: the certificates that it shows and trusts. */
export class DialCertificates {
  readonly #tls: PeerTls;
  readonly #rereading: Rereading;
  #latest: SecureContext;

  /** Throws if OpenSSL cannot read a certificate or a key. */
  constructor(tls: PeerTls, clock: Clock) {
    this.#tls = tls;
    this.#latest = createSecureContext(certificatesOf(tls));
    this.#rereading = new Rereading(tls, clock);
  }

  /**
   * Reads the certificate files again if they are due. While they are not usable, returns the last
   * certificates that were.
   */
  current(): SecureContext {
    if (!this.#rereading.isDue()) return this.#latest;
    try {
      this.#latest = createSecureContext(certificatesOf(this.#tls));
    } catch {}
    return this.#latest;
  }
}

/**
 * Dials. Resolves when TLS is established. The caller checks which member is at the other end.
 */
export async function connectByTls({ host, port }: Endpoint, secureContext: SecureContext, signal: AbortSignal): Promise<TLSSocket> {
  // The certificate names the member, so do not check the host name. Require trust explicitly, so
  // that no environment variable turns the check off.
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const socket = connect({
    ...{ host, port, ...servername },
    secureContext,
    ...{ rejectUnauthorized: true, checkServerIdentity: () => undefined },
  });
  const secured = Promise.withResolvers<void>();
  const abort = (): void => void socket.destroy(signal.reason instanceof Error ? signal.reason : undefined);
  signal.addEventListener('abort', abort, { once: true });
  socket.unref().setNoDelay();
  socket.once('secureConnect', () => secured.resolve());
  socket.once('close', () => secured.reject(new Error('the other side ended the connection')));
  socket.on('error', (error) => secured.reject(refusalOf(error)));
  try {
    await secured.promise;
    return socket;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/**
 * Why the other side's certificate does not belong to this member. Undefined: it does. A `nameOf`
 * of the application that throws, or returns no name, is a reason too.
 */
export function judgeName(socket: TLSSocket, memberId: string, { nameOf = String }: PeerTls): Refused | undefined {
  const certificate = socket.getPeerX509Certificate();
  try {
    const name = nameOf(memberId);
    const shown = certificate?.checkHost(name, { subject: 'default', wildcards: false });
    // Compare exactly: `checkHost` ignores case, and matches a name like ".name" to subdomains.
    if (shown !== undefined && shown === name) return undefined;
    return new Refused('certificate', { from: memberId, expected: name, shown: certificate?.subjectAltName ?? certificate?.subject });
  } catch (error) {
    return new Refused('certificate', { from: memberId, nameOf: describeError(error) });
  }
}

/** Turns an error of TLS into a refusal. Returns other errors of the system unchanged. */
function refusalOf(error: unknown): unknown {
  const facts = { tls: describeError(error) };
  if (isDistrust(error)) return new Refused('certificate', facts);
  return errorCode(error).startsWith('ERR_SSL') ? new Refused('notThisProtocol', facts) : error;
}

/** The address of the other side. No two open connections to this port have the same one. */
function addressOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
