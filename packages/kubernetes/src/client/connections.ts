/**
 * The HTTP connections to an API server. Each request has a connection to itself, which is kept for
 * the next request. Node's HTTP client never sends a request twice, and reports when a request gets
 * its connection: before that, nothing was sent.
 */

import { Agent, request as httpRequest, type ClientRequest, type ClientRequestArgs, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import type { Clock } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';
import { type Attempt, connectSocket, dial, type Endpoint, endpointName, type TlsOptions } from '@incumbent/network';

import type { Access, Credentials } from './access.ts';
import { ExchangeError } from './failure.ts';

/**
 * Opens a socket to the API server, with TLS if `tls` is given. The store destroys a socket that is
 * returned after the signal has aborted.
 */
export type Connect = (endpoint: Endpoint, signal: AbortSignal, tls: TlsOptions | undefined) => Promise<Socket>;

export interface ConnectionOptions {
  readonly access: Access;
  readonly connect: Connect;
  /** How long opening a connection may take, in ms. */
  readonly connectTimeoutMs: number;
  readonly clock: Clock;
}

export interface HttpRequest {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  readonly body?: string | undefined;
}

/** Credentials are read again after this time, in ms. A token that was replaced stays valid longer. */
const FRESH_CREDENTIALS_MS = 5_000;
/** How long {@link Connections.close} waits for the sockets to close. */
const CLOSE_MS = 1_000;
/** An idle connection is closed after this time, before a firewall on the way forgets it. */
const IDLE_MS = 30_000;

/** TCP or TLS, as the credentials say. */
export const connectDirectly: Connect = (endpoint, signal, tls) => connectSocket(endpoint, { tls, protocols: ['http/1.1'] }, signal);

export class Connections {
  readonly #options: ConnectionOptions;
  readonly #agent: DialingAgent;
  #credentials: Promise<Credentials> | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #secret: string | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#agent = new DialingAgent(options, () => this.#current());
  }

  /**
   * Sends the request at most once. Sets `attempt.sent` and calls `onSent` when it may have been
   * sent. Resolves with the head of the response. Rejects with an `ExchangeError`, or with the
   * reason of the attempt's signal. The request ends when that signal aborts.
   */
  async send({ method, path, body = '' }: HttpRequest, attempt: Attempt, onSent: () => void): Promise<IncomingMessage> {
    const { headers } = await attempt.wait(this.#current());
    this.#secret = headers['authorization']?.replace(/^\w+ /, '');
    const { basePath, endpoint } = this.#options.access;
    const type = body === '' ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
    const request = httpRequest({
      agent: this.#agent,
      method,
      path: basePath + path,
      headers: { host: endpointName(endpoint), accept: 'application/json', ...type, ...headers },
    });
    const cancel = onAbort(attempt.signal, () => request.destroy());
    request.once('socket', () => {
      attempt.sent = true;
      onSent();
    });
    request.end(body === '' ? undefined : body);
    request.once('close', cancel);
    return attempt.wait(headOf(request, attempt));
  }

  /** The token that was sent last, which an answer may repeat. */
  get secret(): string | undefined {
    return this.#secret;
  }

  /**
   * Forgets the credentials, because the server has rejected them. A client certificate belongs to
   * its connection, so no connection of now is used for another request.
   */
  forgetCredentials(): void {
    this.#credentials = undefined;
    this.#agent.forget();
  }

  /** Closes the connections, and ends the attempts to connect that are under way. */
  async close(): Promise<void> {
    const over = Promise.withResolvers<void>();
    const cancel = this.#options.clock.schedule(CLOSE_MS, over.resolve);
    await Promise.race([this.#agent.close(), over.promise]);
    cancel();
  }

  #current(): Promise<Credentials> {
    const nowMs = this.#options.clock.monotonic();
    if (this.#credentials !== undefined && nowMs - this.#readAtMs < FRESH_CREDENTIALS_MS) return this.#credentials;
    this.#readAtMs = nowMs;
    const credentials = this.#options.access.credentials().catch((cause: unknown) => {
      this.#credentials = undefined;
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new ExchangeError({ kind: 'notConnected' }, `the credentials cannot be read: ${why}`, cause);
    });
    credentials.catch(() => {});
    this.#credentials = credentials;
    return credentials;
  }
}

async function headOf(request: ClientRequest, attempt: Attempt): Promise<IncomingMessage> {
  try {
    return await new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve).on('error', reject);
    });
  } catch (error) {
    if (error instanceof ExchangeError) throw error;
    const kind = attempt.sent ? 'cut' : 'notConnected';
    throw new ExchangeError({ kind }, error instanceof Error ? error.message : String(error), withoutPacket(error));
  }
}

type OnConnected = (error: Error | null, socket: Duplex) => void;

/** An HTTP agent of Node with connections of our own. */
class DialingAgent extends Agent {
  readonly #options: ConnectionOptions;
  readonly #credentials: () => Promise<Credentials>;
  readonly #open = new Set<Socket>();
  /** Those that a request may use after the present one. */
  #reusable = new WeakSet<Duplex>();
  readonly #closing = new AbortController();

  constructor(options: ConnectionOptions, credentials: () => Promise<Credentials>) {
    // Node closes only idle connections by this timeout. It emits an event for a connection in use.
    super({ keepAlive: true, timeout: IDLE_MS });
    this.#options = options;
    this.#credentials = credentials;
  }

  override createConnection(_: ClientRequestArgs, done: OnConnected = () => {}): undefined {
    this.#dial().then(
      (socket) => {
        this.#open.add(socket);
        this.#reusable.add(socket);
        socket.once('close', () => this.#open.delete(socket));
        if (this.#closing.signal.aborted) socket.destroy();
        done(null, socket);
      },
      // The caller ignores the socket of a failed attempt.
      (error: unknown) => done(error instanceof Error ? error : new Error(String(error)), new Socket()),
    );
  }

  /** Node calls it after a request, and destroys the socket if it returns false. */
  override keepSocketAlive(socket: Duplex): boolean {
    const keeps: unknown = super.keepSocketAlive(socket);
    return keeps === true && this.#reusable.has(socket);
  }

  /** Closes the idle connections now, and the others after their requests. */
  forget(): void {
    this.#reusable = new WeakSet();
    for (const idle of Object.values(this.freeSockets)) for (const socket of idle ?? []) socket.destroy();
  }

  async #dial(): Promise<Socket> {
    const { access, connect, connectTimeoutMs, clock } = this.#options;
    const late = new AbortController();
    const cancel = clock.schedule(connectTimeoutMs, () => late.abort(new Error(`no connection within ${connectTimeoutMs} ms`)));
    try {
      const { tls } = await this.#credentials();
      const signal = AbortSignal.any([late.signal, this.#closing.signal]);
      return adapted(await dial((endpoint, until) => connect(endpoint, until, tls), access.endpoint, signal));
    } finally {
      cancel();
    }
  }

  /** Resolves when all connections have closed. */
  async close(): Promise<void> {
    this.#closing.abort(new ExchangeError({ kind: 'closed', sent: false }, 'the store was closed'));
    const ends = [...this.#open].map((socket) => new Promise((resolve) => void socket.once('close', resolve)));
    for (const socket of this.#open) socket.destroy();
    this.destroy();
    await Promise.all(ends);
  }
}

/** Changes two things that Node's HTTP client does with a socket. */
function adapted(socket: Socket): Socket {
  // The client refs the socket of a request, and the socket of a watch must not keep the process alive.
  socket.unref();
  socket.ref = () => socket;
  // A server that rejects a certificate sends an alert and closes. The client would report only
  // that the connection closed.
  const destroy = socket.destroy.bind(socket);
  let first: Error | undefined;
  socket.once('error', (error: Error) => (first = error));
  socket.destroy = (error) => destroy(first ?? error);
  return socket;
}

/**
 * Node's parser attaches the bytes that it cannot read to its error, and a response may repeat the
 * request's token.
 */
function withoutPacket(error: unknown): unknown {
  if (error instanceof Error) Reflect.deleteProperty(error, 'rawPacket');
  return error;
}
