/**
 * The HTTP connections to an agent. Each request has a connection to itself, which is kept for the
 * next request. Node's HTTP client never sends a request twice, and reports when a request gets its
 * connection: before that, nothing was sent.
 */

import { Agent, request as httpRequest, type ClientRequest, type ClientRequestArgs, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import type { Clock } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';
import { type Attempt, endpointName } from '@incumbent/network';

import { BodyReaders, type OnItem } from './body.ts';
import { Dialer, type DialOptions } from './dialer.ts';
import { ExchangeError } from './failure.ts';

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

/** How long {@link Connections.close} waits for the sockets to close. */
const CLOSE_MS = 1_000;

/** An idle connection is closed after this time, before a firewall on the way forgets it. */
const IDLE_MS = 30_000;

export class Connections {
  readonly #clock: Clock;
  readonly #host: string;
  readonly #agent: DialingAgent;
  readonly #bodies = new BodyReaders();

  constructor(options: DialOptions) {
    this.#clock = options.clock;
    this.#host = endpointName(options.endpoint);
    this.#agent = new DialingAgent(new Dialer(options));
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
  async close(): Promise<void> {
    const over = Promise.withResolvers<void>();
    const cancel = this.#clock.schedule(CLOSE_MS, over.resolve);
    await Promise.race([this.#agent.close(), over.promise]);
    cancel();
  }
}

type OnConnected = (error: Error | null, socket: Duplex) => void;

/** An HTTP agent of Node whose connections a dialer opens. */
class DialingAgent extends Agent {
  readonly #dialer: Dialer;
  readonly #open = new Set<Socket>();
  #closed = false;

  constructor(dialer: Dialer) {
    // Node closes only idle connections by this timeout. It emits an event for a connection in use.
    super({ keepAlive: true, timeout: IDLE_MS });
    this.#dialer = dialer;
  }

  override createConnection(_: ClientRequestArgs, done: OnConnected = () => {}): undefined {
    this.#dialer.dial().then(
      (socket) => {
        this.#open.add(socket);
        socket.once('close', () => this.#open.delete(socket));
        if (this.#closed) socket.destroy();
        done(null, socket);
      },
      // The caller ignores the socket of a failed attempt.
      (error: unknown) => done(error instanceof Error ? error : new Error(String(error)), new Socket()),
    );
  }

  /** Resolves when all connections have closed. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#dialer.close();
    const ends = [...this.#open].map((socket) => new Promise((resolve) => void socket.once('close', resolve)));
    // Node's agent may not know a connection yet that has just been opened.
    for (const socket of this.#open) socket.destroy();
    this.destroy();
    await Promise.all(ends);
  }
}

/**
 * Node's parser attaches the bytes that it cannot read to its error, and a response may repeat the
 * request's token.
 */
function withoutPacket(error: unknown): unknown {
  if (error instanceof Error) Reflect.deleteProperty(error, 'rawPacket');
  return error;
}
