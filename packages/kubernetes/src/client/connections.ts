/** The HTTP connections to an API server, and the credentials that its requests carry. */

import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

import type { Clock } from '@incumbent/core';
import { type Attempt, connectSocket, dial, type Endpoint, endpointName, type TlsOptions } from '@incumbent/network';
import { http, HttpAgent, withoutPacket } from '@incumbent/network/http';

import type { Access } from './access.ts';
import { CredentialCache, type CredentialRead } from './credentials.ts';
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

/** TCP or TLS, as the credentials say. */
export const connectDirectly: Connect = (endpoint, signal, tls) => connectSocket(endpoint, { tls, protocols: ['http/1.1'] }, signal);

const UNAUTHORIZED = 401;

export class Connections {
  readonly #options: ConnectionOptions;
  readonly #agent: HttpAgent;
  readonly #credentials: CredentialCache;
  /** How often the connections were replaced because the server had rejected the credentials. */
  #replacements = 0;
  #secret: string | undefined;

  constructor(options: ConnectionOptions) {
    const { access, connectTimeoutMs, clock } = options;
    this.#options = options;
    this.#credentials = new CredentialCache(access, clock);
    this.#agent = new HttpAgent({ open: (signal) => this.#open(signal), connectTimeoutMs, clock, ErrorType: ExchangeError });
  }

  /**
   * Sends the request. If the server rejects the credentials, sends the request once more, with
   * credentials that were read anew and on another connection. Sets `attempt.sent` and calls
   * `onSent` when the request may have been sent. Resolves with the head of the response. Rejects
   * with an `ExchangeError`, or with the reason of the attempt's signal. The request ends when that
   * signal aborts.
   */
  async send(request: HttpRequest, attempt: Attempt, onSent: () => void): Promise<IncomingMessage> {
    const message = await this.#sendOnce(request, attempt, onSent);
    if (message.statusCode !== UNAUTHORIZED) return message;
    // The server authenticates a request before it looks at it, so it has applied nothing.
    attempt.sent = false;
    message.destroy();
    return this.#sendOnce(request, attempt, onSent);
  }

  /** The token that was sent last, which an answer may repeat. */
  get secret(): string | undefined {
    return this.#secret;
  }

  /** Closes the connections, and ends the attempts to connect that are under way. */
  close(): Promise<void> {
    return this.#agent.close();
  }

  async #sendOnce({ method, path, body = '' }: HttpRequest, attempt: Attempt, onSent: () => void): Promise<IncomingMessage> {
    const used = this.#credentials.current();
    const { headers } = await attempt.wait(used.credentials);
    this.#secret = headers['authorization']?.replace(/^\w+ /, '');
    const { basePath, endpoint } = this.#options.access;
    const format = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const type = body === '' ? {} : { 'content-type': format, 'content-length': String(Buffer.byteLength(body)) };
    const replacements = this.#replacements;
    const request = http.request({
      agent: this.#agent,
      method,
      path: basePath + path,
      headers: { host: endpointName(endpoint), accept: 'application/json', ...type, ...headers },
    });
    const cancel = this.#agent.endWith(attempt, request);
    request.once('socket', () => {
      attempt.sent = true;
      onSent();
    });
    request.end(body === '' ? undefined : body);
    request.once('close', cancel);
    const message = await attempt.wait(headOf(request, attempt));
    if (message.statusCode === UNAUTHORIZED) this.#onRejected(used, replacements);
    return message;
  }

  /**
   * The server has rejected the credentials of a request. A client certificate belongs to its
   * connection, so no connection of now is used for another request. Keeps the credentials and the
   * connections that are newer than the request. `replacements`: those before the request.
   */
  #onRejected(used: CredentialRead, replacements: number): void {
    this.#credentials.forget(used);
    if (this.#replacements > replacements) return;
    this.#replacements += 1;
    this.#agent.retire();
  }

  async #open(signal: AbortSignal): Promise<Socket> {
    const { access, connect } = this.#options;
    const { tls } = await this.#credentials.current().credentials;
    return dial((endpoint, until) => connect(endpoint, until, tls), access.endpoint, signal);
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
