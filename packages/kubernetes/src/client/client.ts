/**
 * Requests to an API server. Each request is one attempt, with a timeout. A request is never sent
 * twice, with one exception: the server has rejected the credentials, and so not looked at the
 * request.
 */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

import { checkCall, Semaphore, withoutSecret } from '@incumbent/core/adapter';
import { type Attempt, type AttemptOptions, Calls } from '@incumbent/network';

import { readLines, readText } from './body.ts';
import { Connections, type ConnectionOptions } from './connections.ts';
import { ExchangeError, type Right } from './failure.ts';
import { fields, parseObject, type Fields } from '../objects/json.ts';
import { UsedRights } from './used-rights.ts';

/**
 * How many requests of one store may be under way, besides watches. Each has a connection to
 * itself, and to open one costs more than to wait for a request. Requests for one purpose never
 * wait for those for another.
 */
const MAX_REQUESTS = { calls: 16, renewals: 16, publishing: 4 };

/** What a request is for. */
export type Purpose = keyof typeof MAX_REQUESTS;

export interface Request {
  /** The body of a PATCH is a merge patch (RFC 7386). */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** The statuses, besides those of success, for which {@link Client.request} resolves. */
  readonly accept?: readonly number[];
  /** Default `calls`. */
  readonly purpose?: Purpose;
}

export interface Response {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** An object of Kubernetes, or a `Status`. */
  readonly body: Fields;
}

export class Client {
  readonly #connections: Connections;
  readonly #calls: Calls;
  readonly #rights: UsedRights;
  readonly #slots = {
    calls: new Semaphore(MAX_REQUESTS.calls),
    renewals: new Semaphore(MAX_REQUESTS.renewals),
    publishing: new Semaphore(MAX_REQUESTS.publishing),
  };
  #closing: Promise<void> | undefined;

  constructor(options: ConnectionOptions) {
    this.#connections = new Connections(options);
    this.#calls = new Calls(options.clock, ExchangeError);
    this.#rights = new UsedRights(options.clock);
  }

  /** All calls of the store, which end when the client closes. */
  get calls(): Calls {
    return this.#calls;
  }

  /**
   * Resolves with a response of success or of an accepted status. Rejects with an `ExchangeError`,
   * also for another status, or with the signal's reason if the signal aborts. `onSent` is called
   * when a server may have the request.
   */
  request(request: Request, options: AttemptOptions, onSent: () => void = () => {}): Promise<Response> {
    checkCall(options);
    const slots = this.#slots[request.purpose ?? 'calls'];
    return this.#calls.run(options, (attempt) => attempt.wait(slots.run(() => this.#exchange(request, attempt, onSent))));
  }

  /**
   * Calls `onOpen` when the server has begun a watch, and `onEvent` with each of its events.
   * Resolves when the server ends the watch. Rejects like {@link request}, also for an event that
   * reports an error.
   */
  watch(
    path: string,
    query: Readonly<Record<string, string>>,
    options: AttemptOptions,
    onEvent: (event: Fields) => void,
    onOpen: () => void = () => {},
  ): Promise<void> {
    return this.#calls.run(options, async (attempt) => {
      const request = { method: 'GET', path, query: { ...query, watch: 'true' } } as const;
      const message = await this.#send(request, attempt, () => {});
      const { statusCode: status = 0 } = message;
      if (status !== 200) throw this.#unexpected(request, status, await attempt.wait(readText(message)));
      this.#rights.noteUse(rightFor(request));
      onOpen();
      await attempt.wait(
        readLines(message, (line) => {
          const event = parseObject(line);
          if (event['type'] === 'ERROR') throw this.#reported(fields(event['object']));
          onEvent(event);
        }),
      );
    });
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

  async #exchange(request: Request, attempt: Attempt, onSent: () => void): Promise<Response> {
    // The attempt may have ended while it waited.
    attempt.signal.throwIfAborted();
    const message = await this.#send(request, attempt, onSent);
    const { statusCode: status = 0, headers } = message;
    const text = await attempt.wait(readText(message));
    const isAccepted = request.accept?.includes(status) === true && isStatusObject(text);
    if (!isSuccess(status) && !isAccepted) throw this.#unexpected(request, status, text);
    if (status !== FORBIDDEN) this.#rights.noteUse(rightFor(request));
    return { status, headers, body: parseObject(text) };
  }

  #send({ method, path, query = {}, body }: Request, attempt: Attempt, onSent: () => void): Promise<IncomingMessage> {
    const search = new URLSearchParams(query).toString();
    const target = search === '' ? path : `${path}?${search}`;
    const text = body === undefined ? undefined : JSON.stringify(body);
    return this.#connections.send({ method, path: target, body: text }, attempt, onSent);
  }

  #unexpected(request: Request, status: number, text: string): ExchangeError {
    const { reason, message } = statusOf(text);
    const needs = rightFor(request);
    const hadRight = status === FORBIDDEN && this.#rights.noteDenial(needs);
    return new ExchangeError({ kind: 'status', status, reason, needs, hadRight }, this.#describe(status, message));
  }

  /** The error that an event of a watch reports. `object` is a `Status`. */
  #reported(object: Fields): ExchangeError {
    const status = Number(object['code']);
    const { reason, message } = statusOf(JSON.stringify(object));
    return new ExchangeError({ kind: 'status', status, reason }, this.#describe(status, message));
  }

  #describe(status: number, message: string): string {
    return `${status} ${withoutSecret(message, this.#connections.secret).trim().slice(0, 300)}`;
  }
}

const FORBIDDEN = 403;

const VERBS: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

/** The path of the objects of a resource in one namespace, or of one object. */
const OBJECTS = /^\/apis?(?:\/([^/]+))?\/[^/]+\/namespaces\/([^/]+)\/([^/]+)(\/[^/]+)?$/;

/** The right that a request needs. */
export function rightFor({ method, path, query }: Request): Right {
  const [, group = '', namespace, resource, name] = OBJECTS.exec(path) ?? [];
  if (resource === undefined) return { verb: method.toLowerCase(), group: '', resource: path, namespace: undefined };
  const read = query?.['watch'] === 'true' ? 'watch' : name === undefined ? 'list' : 'get';
  return { verb: VERBS[method] ?? read, group, resource, namespace };
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Whether the API itself answers, and not a server that is still starting or a gateway. */
function isStatusObject(text: string): boolean {
  return statusOf(text).reason !== '';
}

/**
 * Kubernetes answers with a `Status`. A server that is starting, or a gateway, answers with text.
 */
function statusOf(text: string): { readonly reason: string; readonly message: string } {
  try {
    const { kind, reason, message } = fields(JSON.parse(text));
    if (kind !== 'Status') return { reason: '', message: text };
    return { reason: typeof reason === 'string' ? reason : '', message: typeof message === 'string' ? message : text };
  } catch {
    return { reason: '', message: text };
  }
}
