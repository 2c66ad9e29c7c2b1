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
import { AnswersTooLarge, type Attempt, ByteBuffer, endpointName, MAX_ANSWER_BYTES, SharedAllowance } from '@incumbent/network';

import { Dialer, type DialOptions } from './dialer.ts';
import { ExchangeError } from './failure.ts';

export interface HttpRequest {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface HttpResponse {
  readonly status: number;
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
  readonly #allowance = new SharedAllowance();

  constructor(options: DialOptions) {
    this.#clock = options.clock;
    this.#host = endpointName(options.endpoint);
    this.#agent = new DialingAgent(new Dialer(options));
  }

  /**
   * Sends the request at most once, and sets `attempt.sent` when it may have been sent. Rejects with
   * an `ExchangeError`, or with the reason of the attempt's signal as soon as the attempt is over.
   */
  async send({ method, path, headers, body = '' }: HttpRequest, attempt: Attempt): Promise<HttpResponse> {
    attempt.signal.throwIfAborted();
    const request = httpRequest({ agent: this.#agent, method, path, headers: { host: this.#host, ...headers } });
    const cancel = onAbort(attempt.signal, () => request.destroy());
    request.once('socket', () => {
      attempt.sent = true;
    });
    request.end(body);
    try {
      return await attempt.wait(responseTo(request, attempt, this.#allowance));
    } finally {
      cancel();
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

async function responseTo(request: ClientRequest, attempt: Attempt, allowance: SharedAllowance): Promise<HttpResponse> {
  try {
    const message = await new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve).on('error', reject);
    });
    const header = (name: string): string | undefined => [message.headers[name]].flat()[0];
    return { status: message.statusCode ?? 0, text: await textOf(message, allowance), header };
  } catch (error) {
    if (error instanceof ExchangeError) throw error;
    throw new ExchangeError(
      { kind: attempt.sent ? 'cut' : 'notConnected' },
      error instanceof Error ? error.message : String(error),
      withoutPacket(error),
    );
  }
}

/** The longest body. Parsing takes several times its length. */
const MAX_TEXT_BYTES = MAX_ANSWER_BYTES / 2;

/** The first size of the buffer, in which most bodies fit. */
const FIRST_BYTES = 4_096;

async function textOf(message: IncomingMessage, allowance: SharedAllowance): Promise<string> {
  const share = allowance.share();
  const text = new ByteBuffer(FIRST_BYTES);
  const received: AsyncIterable<Buffer> = message;
  try {
    for await (const chunk of received) {
      const bytes = text.length + chunk.length;
      // An exception in the loop closes the connection.
      if (bytes > MAX_TEXT_BYTES) throw new ExchangeError({ kind: 'malformed' }, `the response is longer than ${MAX_TEXT_BYTES} bytes`);
      if (bytes > text.capacity) {
        const capacity = Math.min(Math.max(bytes, 2 * text.capacity), MAX_TEXT_BYTES);
        share.take(capacity - text.capacity);
        text.grow(capacity);
      }
      text.fill(chunk);
    }
    return Buffer.from(text.bytes.buffer, 0, text.length).toString();
  } catch (error) {
    throw error instanceof AnswersTooLarge ? new ExchangeError({ kind: 'malformed' }, error.message, error) : error;
  } finally {
    share.release();
    text.free();
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

/** Node's parser attaches the bytes that it cannot read to its error, and a response may repeat the request's token. */
function withoutPacket(error: unknown): unknown {
  if (error instanceof Error) Reflect.deleteProperty(error, 'rawPacket');
  return error;
}
