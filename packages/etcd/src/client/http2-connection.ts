/** One HTTP/2 connection to one member of the cluster. */

import { connect, type ClientHttp2Session, type ClientHttp2Stream, type OutgoingHttpHeaders } from 'node:http2';
import type { Duplex } from 'node:stream';

import { type Connect, describeError, dial, type Endpoint, endpointName, GRACE_MS, type SharedAllowance } from '@incumbent/network';

import { isNotHttp2 } from '../errors.ts';
import { ExchangeError } from './failure.ts';

/** Pings that detect a dead connection. Sent only while there are requests. */
export interface Keepalive {
  /** The time between two pings, in ms. */
  readonly intervalMs: number;
  /** How long an answer may take before the connection is closed, in ms. */
  readonly timeoutMs: number;
}

export interface ConnectionOptions {
  /** Opens the byte stream: TCP, TLS, or the caller's own. */
  readonly connect: Connect;
  readonly secure: boolean;
  readonly keepalive: Keepalive;
  /** How long opening may take until the server has sent its HTTP/2 settings, in ms. */
  readonly dialTimeoutMs: number;
  /**
   * After so many requests the connection accepts no more, because HTTP/2 has no more than 2³⁰
   * stream numbers for the client.
   */
  readonly maxRequests: number;
  /** The memory that answers may take, shared by all connections of the store. */
  readonly answers: SharedAllowance;
}

/**
 * HTTP/2 allows 64 KiB at first, which would slow a large answer down. Each answer that waits for
 * memory may take this much.
 */
const WINDOW_BYTES = 2 ** 20;

/**
 * etcd counts a ping that arrives within 5 s of the previous one, or while there is no request, and
 * closes the connection at the third. The count restarts when the server itself sends something,
 * which it does not do while it hangs.
 */
const MIN_PING_MS = 5_500;
const MAX_EARLY_PINGS = 2;

/**
 * The memory of one of Node's HTTP/2 sessions. With the default of 10 MB, it would refuse streams
 * during a large answer.
 */
const MAX_SESSION_MEMORY_MB = 48;

/** A connection to a server that has sent its HTTP/2 settings. Does not keep the process alive. */
export class Http2Connection {
  readonly endpoint: Endpoint;
  readonly openedAtMs: number = performance.now();
  /** The memory that answers may take. */
  readonly answers: SharedAllowance;
  readonly #socket: Duplex;
  readonly #http2: ClientHttp2Session;
  readonly #keepalive: Keepalive;
  readonly #maxRequests: number;
  readonly #ticks: NodeJS.Timeout;
  readonly #onLeaving = new Set<() => void>();
  readonly #onRetired = new Set<() => void>();
  readonly #ended = Promise.withResolvers<void>();
  #requests = 0;
  #isRetired = false;
  readonly #streams = new Set<ClientHttp2Stream>();
  #pinging = false;
  #pingedAtMs = Number.NEGATIVE_INFINITY;
  /** How many pings the server may have counted. */
  #earlyPings = 0;
  #nextPing: NodeJS.Timeout | undefined;
  #goaway: { readonly code: number; readonly last: number } | undefined;

  /** Use {@link openConnection}, which also waits for the server's settings. */
  constructor(endpoint: Endpoint, socket: Duplex, http2: ClientHttp2Session, { keepalive, maxRequests, answers }: ConnectionOptions) {
    this.answers = answers;
    this.endpoint = endpoint;
    this.#socket = socket;
    this.#http2 = http2;
    this.#keepalive = keepalive;
    this.#maxRequests = maxRequests;
    this.#ticks = setInterval(() => {
      if (this.#isAsked) this.probe();
    }, keepalive.intervalMs).unref();
    http2.on('goaway', (code: number, last: number) => {
      this.#goaway = { code, last };
      this.#leave();
    });
    http2.on('close', () => {
      clearInterval(this.#ticks);
      clearTimeout(this.#nextPing);
      this.#leave();
      this.#ended.resolve();
    });
  }

  /**
   * Whether the connection accepts requests. False once it is lost or either side is closing it.
   * Requests in flight may finish.
   */
  get usable(): boolean {
    return !this.#isRetired && this.#isOpen;
  }

  get #isOpen(): boolean {
    return this.#requests < this.#maxRequests && !this.#http2.closed && !this.#http2.destroyed;
  }

  /** Accepts no more requests. Closes when the last request in flight ends. */
  retire(): void {
    this.#isRetired = true;
    if (this.#streams.size === 0) return this.destroy();
    runOnce(this.#onRetired);
  }

  /**
   * Runs `task` once, when `retire` was called with requests in flight. Returns its cancellation.
   */
  onRetired(task: () => void): () => void {
    this.#onRetired.add(task);
    return () => {
      this.#onRetired.delete(task);
    };
  }

  /**
   * Opens a stream. Throws an `ExchangeError` if the connection has closed; nothing was sent then.
   * A retired connection accepts requests that are about the connection itself: check `usable`
   * before any other request.
   */
  request(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    if (!this.#isOpen) throw new ExchangeError({ kind: 'notConnected' }, 'the connection was lost before the request was sent');
    const stream = this.#http2.request({ ':method': 'POST', te: 'trailers', 'content-type': 'application/grpc', ...headers });
    this.#streams.add(stream);
    this.#requests += 1;
    stream.on('response', () => (this.#earlyPings = 0));
    stream.on('close', () => {
      this.#streams.delete(stream);
      // Node's graceful close would also refuse requests that are not on the wire yet.
      if (this.#streams.size === 0 && !this.usable) this.destroy();
    });
    // Deferred, so that the caller of the last request can first register a task.
    if (this.#requests === this.#maxRequests) queueMicrotask(() => this.#leave());
    return stream;
  }

  /**
   * Whether the server processed this request, by the number in its GOAWAY. When a server closes a
   * connection for an error, Node ends every stream with that error's code, processed or not.
   */
  hasTaken(stream: ClientHttp2Stream): boolean {
    return this.#goaway !== undefined && this.#goaway.code !== 0 && (stream.id ?? 0) <= this.#goaway.last;
  }

  /**
   * Sends a ping, and closes the connection if no answer arrives within the keepalive's timeout.
   * Waits some seconds first if the server has counted as many pings as it allows.
   */
  probe(): void {
    if (this.#pinging || this.#nextPing !== undefined || this.#http2.destroyed) return;
    const waitMs = this.#pingedAtMs + MIN_PING_MS - performance.now();
    if (waitMs <= 0 && this.#isAsked) return this.#ping();
    if (this.#earlyPings < MAX_EARLY_PINGS) {
      this.#earlyPings += 1;
      return this.#ping();
    }
    this.#nextPing = setTimeout(
      () => {
        this.#nextPing = undefined;
        if (this.#isAsked) this.probe();
      },
      Math.max(waitMs, 0) || MIN_PING_MS,
    ).unref();
  }

  /** Whether there is a request that the server knows of. */
  get #isAsked(): boolean {
    return [...this.#streams].some(({ closed }) => !closed);
  }

  #ping(): void {
    this.#pinging = true;
    this.#pingedAtMs = performance.now();
    const end = (): void => this.destroy(new Error('the server did not answer a ping'));
    let late = setTimeout(() => {
      late = setTimeout(end, GRACE_MS).unref();
    }, this.#keepalive.timeoutMs).unref();
    // `ping` returns false while too many pings are in flight: here there is one at most.
    this.#http2.ping(() => {
      clearTimeout(late);
      this.#pinging = false;
    });
  }

  /**
   * Runs `task` once, when the server announces that it closes the connection, or when the
   * connection closes. Runs it at once if the connection is not usable. Returns its cancellation.
   */
  onLeaving(task: () => void): () => void {
    if (!this.usable) {
      task();
      return () => {};
    }
    this.#onLeaving.add(task);
    return () => {
      this.#onLeaving.delete(task);
    };
  }

  /** Closes the connection at once. Requests in flight fail. */
  destroy(cause?: Error): void {
    this.#http2.destroy(cause);
    this.#socket.destroy();
  }

  /** Resolves when the connection has closed. */
  ended(): Promise<void> {
    return this.#ended.promise;
  }

  #leave(): void {
    runOnce(this.#onLeaving);
  }
}

function runOnce(tasks: Set<() => void>): void {
  const all = [...tasks];
  tasks.clear();
  for (const task of all) task();
}

/**
 * Connects, and waits for the server's HTTP/2 settings. Rejects with an `ExchangeError`, or with
 * the signal's reason.
 */
export async function openConnection(endpoint: Endpoint, options: ConnectionOptions, signal: AbortSignal): Promise<Http2Connection> {
  const attempt = new AbortController();
  const late = setTimeout(() => attempt.abort(notConnected(new Error('no answer in time'))), options.dialTimeoutMs).unref();
  const abort = (): void => attempt.abort(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    const socket = await openSocket(endpoint, options, attempt.signal);
    return new Http2Connection(endpoint, socket, await greet(socket, endpoint, options, attempt.signal), options);
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', abort);
  }
}

async function openSocket(endpoint: Endpoint, { connect: open }: ConnectionOptions, signal: AbortSignal): Promise<Duplex> {
  try {
    return await dial(open, endpoint, signal);
  } catch (error) {
    throw signal.aborted ? error : notConnected(error);
  }
}

/** Starts HTTP/2 on the socket. Resolves when the server's settings have arrived. */
function greet(socket: Duplex, endpoint: Endpoint, { secure }: ConnectionOptions, signal: AbortSignal): Promise<ClientHttp2Session> {
  // The signal may abort in the moment in which the socket opens.
  if (signal.aborted) {
    socket.destroy();
    return Promise.reject(signal.reason);
  }
  const http2 = connect(`${secure ? 'https' : 'http'}://${endpointName(endpoint)}`, {
    createConnection: () => socket,
    maxSessionMemory: MAX_SESSION_MEMORY_MB,
    settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
  });
  http2.unref();
  return new Promise((resolve, reject) => {
    let cause: unknown;
    const abort = (): void => {
      reject(signal.reason);
      http2.destroy();
      socket.destroy();
    };
    signal.addEventListener('abort', abort, { once: true });
    // A TLS alert after the handshake, such as a rejected client certificate, destroys Node's
    // session without closing it. Destroying the socket closes it.
    socket.on('error', () => socket.destroy());
    // Stays for the life of the session: an error without a listener would end the process.
    http2.on('error', (error) => {
      cause = error;
    });
    http2.once('close', () => {
      signal.removeEventListener('abort', abort);
      reject(notConnected(cause));
    });
    http2.once('remoteSettings', () => {
      signal.removeEventListener('abort', abort);
      http2.setLocalWindowSize(WINDOW_BYTES);
      resolve(http2);
    });
  });
}

const NOT_HTTP2 = 'the server does not speak HTTP/2: it is not the client port of etcd, or it requires TLS (etcds:)';

function notConnected(cause: unknown): ExchangeError {
  const message = cause === undefined ? 'the server closed the connection immediately; it may require TLS (etcds:)' : describeError(cause);
  const reason = isNotHttp2(cause) ? `${message}: ${NOT_HTTP2}` : message;
  return new ExchangeError({ kind: 'notConnected' }, reason, cause);
}
