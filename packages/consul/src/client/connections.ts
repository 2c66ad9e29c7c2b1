/**
 * Many requests at a time, each on a connection of its own, which is kept for the next one. By what Node has built in: it sends none twice, and says when a request has got its
 * connection, so that what was never sent is told from what nobody knows.
 */

import { Agent, request as httpRequest, type ClientRequest, type ClientRequestArgs, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import type { Clock } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';
import { AnswersTooLarge, type Attempt, ByteBuffer, endpointName, MAX_ANSWER_BYTES, SharedAllowance } from '@incumbent/network';

import { Dialler, type DialOptions } from './dialer.ts';
import { ExchangeError } from './failure.ts';

export interface Outgoing {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  header(name: string): string | undefined;
}

/** How long ends of sockets are waited for at close. */
const CLOSE_MS = 1_000;

/** An idle connection is ended after so long, before whatever lies on its way forgets it. */
const IDLE_MS = 30_000;

export class Connections {
  readonly #clock: Clock;
  readonly #host: string;
  readonly #agent: DiallingAgent;
  readonly #answers = new SharedAllowance();

  constructor(options: DialOptions) {
    this.#clock = options.clock;
    this.#host = endpointName(options.endpoint);
    this.#agent = new DiallingAgent(new Dialler(options));
  }

  /**
   * Sends it once at most, and sets `attempt.sent` when it may be on its way. Rejects with an `ExchangeError`, or, as soon as the attempt is over, with its
   * signal's reason.
   */
  async carry({ method, path, headers, body = '' }: Outgoing, attempt: Attempt): Promise<Answer> {
    attempt.signal.throwIfAborted();
    const request = httpRequest({ agent: this.#agent, method, path, headers: { host: this.#host, ...headers } });
    const cancel = onAbort(attempt.signal, () => request.destroy());
    request.once('socket', () => {
      attempt.sent = true;
    });
    request.end(body);
    try {
      return await attempt.wait(answerOf(request, attempt, this.#answers));
    } finally {
      cancel();
    }
  }

  /** Ends the connections, and what is being dialled. */
  async close(): Promise<void> {
    const over = Promise.withResolvers<void>();
    const cancel = this.#clock.schedule(CLOSE_MS, over.resolve);
    await Promise.race([this.#agent.close(), over.promise]);
    cancel();
  }
}

async function answerOf(request: ClientRequest, attempt: Attempt, answers: SharedAllowance): Promise<Answer> {
  try {
    const message = await new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve).on('error', reject);
    });
    const header = (name: string): string | undefined => [message.headers[name]].flat()[0];
    return { status: message.statusCode ?? 0, text: await textOf(message, answers), header };
  } catch (error) {
    if (error instanceof ExchangeError) throw error;
    throw new ExchangeError(
      { kind: attempt.sent ? 'cut' : 'notConnected' },
      error instanceof Error ? error.message : String(error),
      shown(error),
    );
  }
}

/** Text of JSON takes several times its length while it is parsed. */
const MAX_TEXT_BYTES = MAX_ANSWER_BYTES / 2;

/** Most answers fit. */
const FIRST_BYTES = 4_096;

async function textOf(message: IncomingMessage, answers: SharedAllowance): Promise<string> {
  const share = answers.share();
  const text = new ByteBuffer(FIRST_BYTES);
  const received: AsyncIterable<Buffer> = message;
  try {
    for await (const chunk of received) {
      const bytes = text.length + chunk.length;
      // Whoever leaves the loop ends the connection.
      if (bytes > MAX_TEXT_BYTES) throw new ExchangeError({ kind: 'malformed' }, `the answer is longer than ${MAX_TEXT_BYTES} bytes`);
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

type Dialled = (error: Error | null, socket: Duplex) => void;

/** Its connections are a dialler's. */
class DiallingAgent extends Agent {
  readonly #dialler: Dialler;
  readonly #open = new Set<Socket>();
  #closed = false;

  constructor(dialler: Dialler) {
    // Of idle connections: of one in use it is only told that it has been silent for so long.
    super({ keepAlive: true, timeout: IDLE_MS });
    this.#dialler = dialler;
  }

  override createConnection(_: ClientRequestArgs, done: Dialled = () => {}): undefined {
    this.#dialler.dial().then(
      (socket) => {
        this.#open.add(socket);
        socket.once('close', () => this.#open.delete(socket));
        if (this.#closed) socket.destroy();
        done(null, socket);
      },
      // Beside an error nobody looks at the socket.
      (error: unknown) => done(error instanceof Error ? error : new Error(String(error)), new Socket()),
    );
  }

  /** Resolves when all have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#dialler.close();
    const ends = [...this.#open].map((socket) => new Promise((resolve) => void socket.once('close', resolve)));
    // Not all of them need be known to Node's agent: one that has just come may be on its way to it.
    for (const socket of this.#open) socket.destroy();
    this.destroy();
    await Promise.all(ends);
  }
}

/** Node's parser keeps the whole of an answer that it cannot read, and an answer may repeat the request with its token. */
function shown(error: unknown): unknown {
  if (error instanceof Error) Reflect.deleteProperty(error, 'rawPacket');
  return error;
}
