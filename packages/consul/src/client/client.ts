/** Requests to one agent, each one attempt, bounded in time. */

import { checkCall, Semaphore, withoutSecret } from '@incumbent/core/adapter';
import { Attempt, type AttemptOptions } from '@incumbent/network';

import { type Answer, Connections } from './connections.ts';
import type { DialOptions } from './dialer.ts';
import { callOver, ExchangeError } from './failure.ts';

export interface ClientOptions extends DialOptions {
  readonly token: string | undefined;
  /** What every request's query begins with: the datacenter, and Consul's own namespace. */
  readonly scope: Readonly<Record<string, string>>;
}

export interface Request {
  readonly method: 'GET' | 'PUT';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Statuses besides 200 that are answers. */
  readonly answers?: readonly number[];
  /** Waits for no other, however many there are. */
  readonly urgent?: boolean;
}

/**
 * How many calls are under way at a time, each on a connection of its own, besides those that are urgent and the store's own: an agent takes 200 connections of one address,
 * unless it is told otherwise, and ends what comes beyond.
 */
const MAX_CALLS = 64;

const JSON_TEXT = { 'Content-Type': 'application/json' } as const;

export class Client {
  readonly #options: ClientOptions;
  readonly #connections: Connections;
  readonly #attempts = new Set<Attempt>();
  readonly #lane = new Semaphore(MAX_CALLS);
  #closing: Promise<void> | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#connections = new Connections(options);
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
      const isFree = request.urgent === true || options.background === true;
      const answer = await (isFree ? this.#send(request, attempt) : attempt.wait(this.#lane.run(() => this.#send(request, attempt))));
      if (answer.status === 200) return answer;
      const refused = { ...answer, text: withoutSecret(answer.text, this.#options.token) };
      if (request.answers?.includes(answer.status) === true) return refused;
      throw unexpected(refused);
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
    await this.#connections.close();
  }

  #send({ method, path, query = {}, body }: Request, attempt: Attempt): Promise<Answer> {
    const { token, scope } = this.#options;
    const search = new URLSearchParams({ ...scope, ...query }).toString();
    const headers = { ...(token === undefined ? {} : { 'X-Consul-Token': token }), ...(body === undefined ? {} : JSON_TEXT) };
    return this.#connections.carry({ method, path: search === '' ? path : `${path}?${search}`, headers, body }, attempt);
  }
}

/** The error for an answer that is none of those that were asked for. */
export function unexpected({ status, text }: Answer): ExchangeError {
  return new ExchangeError({ kind: 'status', status, text }, `${status} ${text.trim().slice(0, 200)}`);
}
