/** The HTTP connections to an agent. */

import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

import type { Clock } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';
import { type Attempt, dial, type Endpoint, endpointName, HttpAgent, withoutPacket } from '@incumbent/network';

import { BodyReaders, type OnItem } from './body.ts';
import { ExchangeError } from './failure.ts';

/**
 * Opens a socket to the agent. The store destroys a socket that is returned after the signal has
 * aborted.
 */
export type Connect = (endpoint: Endpoint, signal: AbortSignal) => Promise<Socket>;

export interface ConnectionOptions {
  readonly endpoint: Endpoint;
  readonly connect: Connect;
  /** How long opening a connection may take, in ms. */
  readonly connectTimeoutMs: number;
  readonly clock: Clock;
}

export interface HttpRequest {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Receives the items of a response with status 200, which must be a list of objects. */
  readonly onItem: OnItem | undefined;
}

export interface HttpResponse {
  readonly status: number;
  /** The body; empty if its items were handed out. */
  readonly text: string;
  header(name: string): string | undefined;
}

export class Connections {
  readonly #host: string;
  readonly #agent: HttpAgent;
  readonly #bodies = new BodyReaders();

  constructor({ endpoint, connect, connectTimeoutMs, clock }: ConnectionOptions) {
    this.#host = endpointName(endpoint);
    const open = (signal: AbortSignal): Promise<Socket> => dial(connect, endpoint, signal);
    this.#agent = new HttpAgent({ open, connectTimeoutMs, clock, ErrorType: ExchangeError });
  }

  /**
   * Sends the request at most once, and sets `attempt.sent` when it may have been sent. Rejects
   * with an `ExchangeError`, or with the reason of the attempt's signal as soon as the attempt is
   * over.
   */
  async send({ method, path, headers, body = '', onItem }: HttpRequest, attempt: Attempt): Promise<HttpResponse> {
    attempt.signal.throwIfAborted();
    const request = httpRequest({ agent: this.#agent, method, path, headers: { host: this.#host, ...headers } });
    const cancel = onAbort(attempt.signal, () => request.destroy());
    request.once('socket', () => {
      attempt.sent = true;
    });
    request.end(body);
    try {
      return await attempt.wait(this.#responseTo(request, attempt, onItem));
    } finally {
      cancel();
    }
  }

  async #responseTo(request: ClientRequest, attempt: Attempt, onItem: OnItem | undefined): Promise<HttpResponse> {
    try {
      const message = await new Promise<IncomingMessage>((resolve, reject) => {
        request.once('response', resolve).on('error', reject);
      });
      const { statusCode: status = 0, headers } = message;
      const header = (name: string): string | undefined => [headers[name]].flat()[0];
      return { status, text: await this.#bodies.read(message, status === 200 ? onItem : undefined), header };
    } catch (error) {
      if (error instanceof ExchangeError) throw error;
      throw new ExchangeError(
        { kind: attempt.sent ? 'cut' : 'notConnected' },
        error instanceof Error ? error.message : String(error),
        withoutPacket(error),
      );
    }
  }

  /** Closes the connections, and ends the attempts to connect that are under way. */
  close(): Promise<void> {
    return this.#agent.close();
  }
}
