/** Requests to one agent. Each request is one attempt, with a timeout. */

import { checkCall, Semaphore, withoutSecret } from '@incumbent/core/adapter';
import { type Attempt, type AttemptOptions, Calls } from '@incumbent/network';

import { type ConnectionOptions, Connections, type HttpResponse, type OnHead } from './connections.ts';
import { ExchangeError } from './failure.ts';

export interface ClientOptions extends ConnectionOptions {
  readonly token: string | undefined;
  /** Query parameters of every request: the datacenter, and Consul's own namespace. */
  readonly scope: Readonly<Record<string, string>>;
}

export interface Request {
  readonly method: 'GET' | 'PUT';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The statuses besides 200 for which {@link Client.request} resolves. */
  readonly accept?: readonly number[];
  /**
   * The body of a response with status 200 is a list of objects. Called when the head of such a
   * response has arrived. What it returns receives each object, as JSON, while the body arrives.
   */
  readonly onHead?: OnHead;
  /** Does not wait for other requests, however many there are. */
  readonly urgent?: boolean;
}

/**
 * How many requests are under way at a time, not counting urgent requests and the store's own. Each
 * needs a connection, and an agent by default closes more than 200 connections from one address.
 */
const MAX_REQUESTS = 64;

const JSON_TYPE = { 'Content-Type': 'application/json' } as const;

export class Client {
  readonly #options: ClientOptions;
  readonly #connections: Connections;
  readonly #calls: Calls;
  readonly #slots = new Semaphore(MAX_REQUESTS);
  #closing: Promise<void> | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#connections = new Connections(options);
    this.#calls = new Calls(options.clock, ExchangeError);
  }

  /**
   * Resolves with a response of status 200 or of an accepted status. Rejects with an
   * `ExchangeError`, also for another status, or with the signal's reason if the signal aborts.
   */
  async request(request: Request, options: AttemptOptions): Promise<HttpResponse> {
    checkCall(options);
    const needsSlot = request.urgent !== true && options.background !== true;
    const response = await this.#calls.run(options, (attempt) => {
      const send = (): Promise<HttpResponse> => this.#send(request, attempt);
      return needsSlot ? attempt.wait(this.#slots.run(send)) : send();
    });
    if (response.status === 200) return response;
    const failed = { ...response, text: withoutSecret(response.text, this.#options.token) };
    if (request.accept?.includes(response.status) === true) return failed;
    throw unexpectedStatus(failed, this.#options.token === undefined ? ' (the store was opened without a token)' : '');
  }

  /** Fails the requests under way and closes the connections. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#calls.close();
    await this.#connections.close();
  }

  #send({ method, path, query = {}, body, onHead }: Request, attempt: Attempt): Promise<HttpResponse> {
    const { token, scope } = this.#options;
    const search = new URLSearchParams({ ...scope, ...query }).toString();
    const headers = { ...(token === undefined ? {} : { 'X-Consul-Token': token }), ...(body === undefined ? {} : JSON_TYPE) };
    return this.#connections.send({ method, path: search === '' ? path : `${path}?${search}`, headers, body, onHead }, attempt);
  }
}

/** The error for a response whose status the request did not expect. `note` follows a 403. */
export function unexpectedStatus({ status, text }: HttpResponse, note: string = ''): ExchangeError {
  return new ExchangeError({ kind: 'status', status, text }, `${status} ${text.trim().slice(0, 200)}${status === 403 ? note : ''}`);
}
