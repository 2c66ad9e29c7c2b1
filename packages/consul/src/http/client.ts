/**
 * Requests to one agent, each one attempt, bounded in time. undici carries them: it sends none twice, and says when a request goes out, so that what was
 * never sent is told from what nobody knows.
 */

import type { Socket } from 'node:net';

import type { Clock } from '@incumbent/core';
import { checkCall } from '@incumbent/core/adapter';
import { Attempt, type AttemptOptions, type Endpoint, endpointName } from '@incumbent/network';
import { Pool, type Dispatcher } from 'undici';

import { callOver, ExchangeError } from './failure.ts';
import type { Connect } from './endpoint.ts';

export interface ClientOptions {
  readonly endpoint: Endpoint;
  readonly connect: Connect;
  /** How long a connection may take, in ms. */
  readonly connectTimeoutMs: number;
  readonly token: string | undefined;
  /** What every request's query begins with: the datacenter, and Consul's own namespace. */
  readonly scope: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

export interface Request {
  readonly method: 'GET' | 'PUT';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Statuses besides 200 that are answers. */
  readonly answers?: readonly number[];
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  header(name: string): string | undefined;
}

const JSON_TEXT = { 'Content-Type': 'application/json' } as const;

/** How long ends of sockets are waited for at close. */
const CLOSE_MS = 1_000;

/** An idle connection is ended after so long, before whatever lies on its way forgets it. */
const IDLE_MS = 30_000;

export class Client {
  readonly #options: ClientOptions;
  readonly #pool: Pool;
  readonly #attempts = new Set<Attempt>();
  readonly #dials = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#pool = new Pool(`http://${endpointName(options.endpoint)}`, {
      // As many as there are calls at a time: none waits for another.
      connections: null,
      pipelining: 1,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (_, done) => void this.#connect(done),
    });
  }

  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /** Rejects with an `ExchangeError`, also for a status that is no answer; or with the signal's reason if that aborts. */
  async request(request: Request, options: AttemptOptions): Promise<Answer> {
    checkCall(options);
    options.signal?.throwIfAborted();
    if (this.closed) throw new ExchangeError({ kind: 'closed', sent: false }, 'the store was closed');
    const attempt = new Attempt(this.#options.clock, options, callOver);
    this.#attempts.add(attempt);
    try {
      const answer = await this.#exchange(request, attempt);
      if (answer.status === 200 || request.answers?.includes(answer.status) === true) return answer;
      throw unexpected(answer);
    } finally {
      this.#attempts.delete(attempt);
      attempt.end();
    }
  }

  /** Fails the calls under way and frees the connections. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const attempt of this.#attempts) attempt.close();
    this.#dials.abort(new ExchangeError({ kind: 'closed', sent: false }, 'the store was closed'));
    const over = Promise.withResolvers<void>();
    const cancel = this.#options.clock.schedule(CLOSE_MS, over.resolve);
    await Promise.race([this.#pool.destroy().catch(() => {}), over.promise]);
    cancel();
  }

  #exchange({ method, path, query = {}, body }: Request, attempt: Attempt): Promise<Answer> {
    const { token, scope } = this.#options;
    const search = new URLSearchParams({ ...scope, ...query }).toString();
    const exchange = new Exchange(attempt);
    this.#pool.dispatch(
      {
        method,
        path: search === '' ? path : `${path}?${search}`,
        headers: { ...(token === undefined ? {} : { 'X-Consul-Token': token }), ...(body === undefined ? {} : JSON_TEXT) },
        ...(body === undefined ? {} : { body }),
      },
      exchange,
    );
    return exchange.answer;
  }

  async #connect(done: (...result: [null, Socket] | [Error, null]) => void): Promise<void> {
    const { endpoint, connect, connectTimeoutMs, clock } = this.#options;
    const dial = new AbortController();
    const cancel = clock.schedule(connectTimeoutMs, () => dial.abort(new Error(`no connection within ${connectTimeoutMs} ms`)));
    try {
      const signal = AbortSignal.any([dial.signal, this.#dials.signal]);
      const socket = await connect(endpoint, signal);
      if (signal.aborted) socket.destroy();
      signal.throwIfAborted();
      done(null, tamed(socket));
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)), null);
    } finally {
      cancel();
    }
  }
}

/** The error for an answer that is none of those that were asked for. */
export function unexpected({ status, text }: Answer): ExchangeError {
  return new ExchangeError({ kind: 'status', status, text }, `${status} ${text.trim().slice(0, 200)}`);
}

/** A socket that does as undici's callers need. */
function tamed(socket: Socket): Socket {
  // undici would hold the process by it; a call holds it by its own timer, and a watch must not.
  socket.unref();
  socket.ref = () => socket;
  // When an agent does not like a certificate it says so, and ends: undici would tell of the end alone.
  const destroy = socket.destroy.bind(socket);
  let first: Error | undefined;
  socket.once('error', (error: Error) => (first = error));
  socket.destroy = (error) => destroy(first ?? error);
  return socket;
}

/** One request under way, as undici tells of it. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #attempt: Attempt;
  readonly #answer = Promise.withResolvers<Answer>();
  readonly #chunks: Buffer[] = [];
  readonly #onOver = (): void => this.#give();
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: Readonly<Record<string, string | string[] | undefined>> = {};

  constructor(attempt: Attempt) {
    this.#attempt = attempt;
    attempt.signal.addEventListener('abort', this.#onOver, { once: true });
    if (attempt.signal.aborted) this.#give();
  }

  get answer(): Promise<Answer> {
    return this.#answer.promise;
  }

  /** From here on the request goes out, if it is not aborted here. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#attempt.signal.aborted) controller.abort(new Error('the call is over'));
    else this.#attempt.sent = true;
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#settle();
    const headers = this.#headers;
    const header = (name: string): string | undefined => [headers[name]].flat()[0];
    this.#answer.resolve({ status: this.#status, text: Buffer.concat(this.#chunks).toString(), header });
  }

  onResponseError(_: unknown, error: Error): void {
    this.#settle();
    const kind = this.#attempt.sent ? 'cut' : 'notConnected';
    this.#answer.reject(new ExchangeError({ kind }, error.message, error));
  }

  #give(): void {
    this.#settle();
    this.#answer.reject(this.#attempt.signal.reason);
    this.#controller?.abort(new Error('the call is over'));
  }

  #settle(): void {
    this.#attempt.signal.removeEventListener('abort', this.#onOver);
  }
}
