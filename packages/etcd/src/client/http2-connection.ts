/** One HTTP/2 connection to one member of the cluster. Never keeps the process alive by itself. */

import { connect, type ClientHttp2Session, type ClientHttp2Stream, type OutgoingHttpHeaders } from 'node:http2';
import type { Duplex } from 'node:stream';

import { type Connect, describeError, endpointName, type Endpoint, type SharedAllowance } from '@incumbent/network';

import { ExchangeError } from './exchange-error.ts';

/** Pings that find a dead connection. Sent while there are requests: etcd takes others for an attack. */
export interface Keepalive {
  /** From one ping to the next, in ms. */
  readonly intervalMs: number;
  /** How long an answer may take before the connection is given up, in ms. */
  readonly timeoutMs: number;
}

export interface SessionOptions {
  /** Opens the byte stream: TCP, TLS, or the caller's own. */
  readonly connect: Connect;
  readonly secure: boolean;
  readonly keepalive: Keepalive;
  /** How long it may take until the server has shown that it speaks HTTP/2, in ms. */
  readonly dialTimeoutMs: number;
  /** After so many requests the session makes way for a new one: HTTP/2 has no more than 2³⁰ numbers for those of one connection. */
  readonly maxRequests: number;
  /** Of all sessions of the store. */
  readonly answers: SharedAllowance;
}

/** So that a large answer is not held up by the 64 KiB that HTTP/2 grants at first. */
const WINDOW_BYTES = 4 * 2 ** 20;

/**
 * etcd counts pings that come within 5 s of one another, or while there is no request, and ends the connection at the third that it counts; what it sends itself, which it
 * does not while it hangs, wipes them out.
 */
const MIN_PING_MS = 5_500;
const MAX_EARLY_PINGS = 2;
/** After a pause of this process, what came in meanwhile is read before it is taken for silence. */
const GRACE_MS = 50;

/** What Node lets one session hold, in MB; its default of 10 would refuse streams while a large answer comes. */
const MAX_SESSION_MEMORY_MB = 48;

export class Session {
  readonly endpoint: Endpoint;
  readonly openedAtMs: number = performance.now();
  /** What answers that are under way count against. */
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
  /** How many it may have counted. */
  #earlyPings = 0;
  #nextPing: NodeJS.Timeout | undefined;
  #goaway: { readonly code: number; readonly last: number } | undefined;

  /** For {@link openSession}: of a session that the server has agreed to. */
  constructor(endpoint: Endpoint, socket: Duplex, http2: ClientHttp2Session, { keepalive, maxRequests, answers }: SessionOptions) {
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

  /** False once the connection is lost, or either side means to end it; what is under way may finish. */
  get usable(): boolean {
    return !this.#isRetired && this.#isOpen;
  }

  get #isOpen(): boolean {
    return this.#requests < this.#maxRequests && !this.#http2.closed && !this.#http2.destroyed;
  }

  /** Takes no more requests, and ends with the last of those that it has. */
  retire(): void {
    this.#isRetired = true;
    if (this.#streams.size === 0) return this.destroy();
    const tasks = [...this.#onRetired];
    this.#onRetired.clear();
    for (const task of tasks) task();
  }

  /** Runs `task` once, when the session takes no more requests because it did not serve one. */
  onRetired(task: () => void): () => void {
    this.#onRetired.add(task);
    return () => {
      this.#onRetired.delete(task);
    };
  }

  /**
   * Throws an `ExchangeError` where the session has ended: then nothing was sent. A session that has
   * retired takes a request that is about itself: ask `usable` before any other.
   */
  request(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    if (!this.#isOpen) throw new ExchangeError({ kind: 'notConnected' }, 'the connection was lost before the request was sent');
    const stream = this.#http2.request({ ':method': 'POST', te: 'trailers', 'content-type': 'application/grpc', ...headers });
    this.#streams.add(stream);
    this.#requests += 1;
    stream.on('response', () => (this.#earlyPings = 0));
    stream.on('close', () => {
      this.#streams.delete(stream);
      // Not by a graceful close of Node's, which would refuse requests that are not on the wire yet.
      if (this.#streams.size === 0 && !this.usable) this.destroy();
    });
    // Whoever makes the last request has yet to hear that the session means to end.
    if (this.#requests === this.#maxRequests) queueMicrotask(() => this.#leave());
    return stream;
  }

  /** Whether the server took this request, by its word when it ended the session for an error: every request has that error's code then, taken or not. */
  hasTaken(stream: ClientHttp2Stream): boolean {
    return this.#goaway !== undefined && this.#goaway.code !== 0 && (stream.id ?? 0) <= this.#goaway.last;
  }

  /** Ends the session within the keepalive's timeout unless the server answers a ping; a few seconds later, where it was asked too often by now. */
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
    // False where too many pings are under way, which cannot be: there is one at most. An error comes with the session's end.
    this.#http2.ping(() => {
      clearTimeout(late);
      this.#pinging = false;
    });
  }

  /** Runs `task` once, when the server asks to leave, or the session ends. */
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

  /** Ends the session at once. Requests in flight fail. */
  destroy(cause?: Error): void {
    this.#http2.destroy(cause);
    this.#socket.destroy();
  }

  /** Resolves when the session has ended. */
  ended(): Promise<void> {
    return this.#ended.promise;
  }

  #leave(): void {
    const tasks = [...this.#onLeaving];
    this.#onLeaving.clear();
    for (const task of tasks) task();
  }
}

/** Connects, and waits until the server has shown that it speaks HTTP/2. Rejects with an `ExchangeError`, or the signal's reason. */
export async function openSession(endpoint: Endpoint, options: SessionOptions, signal: AbortSignal): Promise<Session> {
  const dial = new AbortController();
  const late = setTimeout(() => dial.abort(notConnected(new Error('no answer in time'))), options.dialTimeoutMs).unref();
  const abort = (): void => dial.abort(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    const socket = await openSocket(endpoint, options, dial.signal);
    return new Session(endpoint, socket, await greet(socket, endpoint, options, dial.signal), options);
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', abort);
  }
}

// A caller's own `connect` may take its time, or for ever: what it brings too late is closed.
async function openSocket(endpoint: Endpoint, options: SessionOptions, signal: AbortSignal): Promise<Duplex> {
  const opening = Promise.resolve().then(() => options.connect(endpoint, signal));
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => {
    aborted.reject(signal.reason);
    opening.then(
      (socket) => socket.destroy(),
      () => {},
    );
  };
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([opening, aborted.promise]);
  } catch (error) {
    throw signal.aborted ? error : notConnected(error);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** HTTP/2's first words: resolves when the server's settings have come. */
function greet(socket: Duplex, endpoint: Endpoint, { secure }: SessionOptions, signal: AbortSignal): Promise<ClientHttp2Session> {
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
    // A TLS alert that comes after the handshake, such as the refusal of this client's certificate, leaves a session of Node's half dead:
    // destroyed, and never closed, until the socket is.
    socket.on('error', () => socket.destroy());
    // Stays for the session's whole life: an error that nobody listens to would end the process.
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

function notConnected(cause: unknown): ExchangeError {
  const message = cause === undefined ? 'the server ended the connection at once' : describeError(cause);
  return new ExchangeError({ kind: 'notConnected' }, message, cause);
}
