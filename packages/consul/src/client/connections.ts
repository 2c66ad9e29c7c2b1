/** The HTTP connections to an agent. */

import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

import type { Clock } from '@incumbent/core';
import { type Attempt, dial, type Endpoint, endpointName } from '@incumbent/network';
import { http, HttpAgent, withoutPacket } from '@incumbent/network/http';

import { BodyReaders, listReader, type OnItem, TextReader } from './body.ts';
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
  /** See `Request.onHead`. */
  readonly onHead: OnHead | undefined;
}

export interface HttpHead {
  readonly status: number;
  header(name: string): string | undefined;
}

/** Returns what receives the items of the list that follows; undefined if nothing needs them. */
export type OnHead = (head: HttpHead) => OnItem | undefined;

export interface HttpResponse extends HttpHead {
  /** The body; empty if it was a list for `onHead`. */
  readonly text: string;
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
  async send({ method, path, headers, body = '', onHead }: HttpRequest, attempt: Attempt): Promise<HttpResponse> {
    attempt.signal.throwIfAborted();
    const request = http.request({ agent: this.#agent, method, path, headers: { host: this.#host, ...headers } });
    const cancel = this.#agent.endWith(attempt, request);
    request.once('socket', () => {
      attempt.sent = true;
    });
    request.end(body);
    try {
      return await attempt.wait(this.#responseTo(request, attempt, onHead));
    } finally {
      cancel();
    }
  }

  async #responseTo(request: ClientRequest, attempt: Attempt, onHead: OnHead | undefined): Promise<HttpResponse> {
    try {
      const message = await new Promise<IncomingMessage>((resolve, reject) => {
        request.once('response', resolve).on('error', reject);
      });
      const { statusCode: status = 0, headers } = message;
      const head: HttpHead = { status, header: (name) => [headers[name]].flat()[0] };
      const reader = onHead !== undefined && status === 200 ? listReader(onHead(head)) : new TextReader();
      return { ...head, text: await this.#bodies.read(message, reader) };
    } catch (error) {
      // Nobody reads the rest of the response, so the connection cannot be used again.
      request.destroy();
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
