/**
 * The connections of Node's HTTP client. Each request has a connection to itself, which is kept for
 * the next request. The client never sends a request twice, and reports when a request gets its
 * connection: before that, nothing was sent.
 */

import type * as NodeHttp from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import type { Cancel, Clock } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';

import type { Attempt } from '../calls/attempt.ts';
import { FailedExchange, type OverErrorClass } from '../calls/exchange-error.ts';

/**
 * Node's HTTP client. An `import` of `node:http` reads all its exports, and one of them makes Node
 * load its `fetch`: 5 MB of memory and 20 ms, on Node 24.
 */
export const http: typeof NodeHttp = process.getBuiltinModule('node:http');

/** How an {@link HttpAgent} opens and ends its connections. */
export interface HttpAgentOptions {
  /** Opens a connection. Destroys one that has opened after the signal has aborted. */
  readonly open: (signal: AbortSignal) => Promise<Socket>;
  /** How long opening a connection may take, in ms. */
  readonly connectTimeoutMs: number;
  readonly clock: Clock;
  /** The adapter's error, for requests that wait for a connection when the agent closes. */
  readonly ErrorType: OverErrorClass;
}

/** How long {@link HttpAgent.close} waits for the connections to close, in ms. */
const CLOSE_MS = 1_000;

/** An idle connection is closed after this time, in ms, before a firewall on the way forgets it. */
const IDLE_MS = 30_000;

type OnConnected = (error: Error | null, socket: Duplex) => void;

/**
 * An HTTP agent of Node whose connections the adapter opens. They do not keep the process alive.
 */
export class HttpAgent extends http.Agent {
  readonly #options: HttpAgentOptions;
  readonly #open = new Set<Socket>();
  /** The connections that may serve another request. `retire` replaces the set. */
  #reusable = new WeakSet<Duplex>();
  /** When a connection that may be idle has carried its last answer. */
  readonly #answeredAtMs = new WeakMap<Duplex, number>();
  readonly #closing = new AbortController();

  constructor(options: HttpAgentOptions) {
    // Node closes only idle connections by this timeout. It emits an event for a connection in use.
    super({ keepAlive: true, timeout: IDLE_MS });
    this.#options = options;
  }

  /** Node calls it for a request without a connection. */
  override createConnection(_: NodeHttp.ClientRequestArgs, done: OnConnected = () => {}): undefined {
    // If `retire` is called while this connection opens, the connection serves one request only.
    const reusable = this.#reusable;
    this.#connect().then(
      (socket) => {
        this.#open.add(socket);
        reusable.add(socket);
        socket.once('close', () => this.#open.delete(socket));
        if (this.#closing.signal.aborted) socket.destroy();
        done(null, socket);
      },
      // Node ignores the socket of a failed attempt.
      (error: unknown) => done(error instanceof Error ? error : new Error(String(error)), new Socket()),
    );
  }

  /** Node calls it after a request, and destroys the socket if it returns false. */
  override keepSocketAlive(socket: Duplex): boolean {
    this.#answeredAtMs.set(socket, this.#options.clock.monotonic());
    const keeps: unknown = super.keepSocketAlive(socket);
    return keeps === true && this.#reusable.has(socket);
  }

  /**
   * Ends the request when its attempt ends without an answer. Returns what separates the two.
   *
   * If the time was over, or the connection broke, the idle connections may be dead, too, as after
   * the end of a server behind a shared address. Each of them would cost a later request its whole
   * timeout, so those are closed that have carried no answer after the request began.
   */
  endWith(attempt: Attempt, request: NodeHttp.ClientRequest): Cancel {
    const { signal } = attempt;
    const beganMs = this.#options.clock.monotonic();
    request.once('error', () => {
      if (!signal.aborted) this.#closeIdle(beganMs);
    });
    return onAbort(signal, () => {
      request.destroy();
      if (isFailedExchange(signal.reason) && signal.reason.failure.kind === 'timeout') this.#closeIdle(beganMs);
    });
  }

  /**
   * Keeps the present connections from serving another request: closes the idle ones now, and the
   * others after their requests.
   */
  retire(): void {
    this.#reusable = new WeakSet();
    this.#closeIdle(Infinity);
  }

  /**
   * Closes the connections, and ends the attempts to connect that are under way. Resolves when all
   * connections have closed, or after a second.
   */
  async close(): Promise<void> {
    this.#closing.abort(new this.#options.ErrorType({ kind: 'closed', sent: false }, 'the store was closed'));
    const ends = [...this.#open].map((socket) => new Promise((resolve) => void socket.once('close', resolve)));
    // Node's agent may not know a connection yet that has just been opened.
    for (const socket of this.#open) socket.destroy();
    this.destroy();
    const over = Promise.withResolvers<void>();
    const cancel = this.#options.clock.schedule(CLOSE_MS, over.resolve);
    await Promise.race([Promise.all(ends), over.promise]);
    cancel();
  }

  /** Closes the idle connections on which no answer has arrived since then. */
  #closeIdle(sinceMs: number): void {
    for (const idle of Object.values(this.freeSockets))
      for (const socket of idle ?? []) if ((this.#answeredAtMs.get(socket) ?? -Infinity) <= sinceMs) socket.destroy();
  }

  async #connect(): Promise<Socket> {
    const { open, connectTimeoutMs, clock } = this.#options;
    const late = new AbortController();
    const cancel = clock.schedule(connectTimeoutMs, () => late.abort(new Error(`no connection within ${connectTimeoutMs} ms`)));
    try {
      return adapted(await open(AbortSignal.any([late.signal, this.#closing.signal])));
    } finally {
      cancel();
    }
  }
}

function isFailedExchange(error: unknown): error is FailedExchange<{ readonly kind: string }> {
  return error instanceof FailedExchange;
}

/**
 * The error of a request, without the bytes that Node's parser attaches when it cannot read a
 * response: the response may repeat the request's token.
 */
export function withoutPacket(error: unknown): unknown {
  if (error instanceof Error) Reflect.deleteProperty(error, 'rawPacket');
  return error;
}

/** Changes two things that Node's HTTP client does with a socket. */
function adapted(socket: Socket): Socket {
  // The client refs the socket of a request, and the socket of a watch must not keep the process
  // alive. The timer of a request does.
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
