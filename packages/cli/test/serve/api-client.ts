/**
 * A client of the HTTP API that validates every answer, and every event, against the OpenAPI file.
 */

import { readFileSync } from 'node:fs';
import { type IncomingMessage, request as sendHttp } from 'node:http';
import { request as sendHttps } from 'node:https';

import { type AnySchemaObject, Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'vitest';

import { closed } from '../support/closed-schema.ts';

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, Response | { readonly $ref: string }>>;
}

interface Response {
  readonly content?: Readonly<Record<string, { readonly schema: AnySchemaObject; readonly 'x-event'?: AnySchemaObject }>>;
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly responses: Readonly<Record<string, Response>> };
}

export const description: Description = JSON.parse(readFileSync(new URL('../../serve.openapi.json', import.meta.url), 'utf8'));

/** The statuses with which each operation has answered in these tests, as `operationId status`. */
export const answered = new Set<string>();

const ajv = new Ajv2020({ allErrors: true, strict: false });
ajv.addSchema({ ...Object(closed(description)), $id: 'api' });
const validators = new Map<string, ValidateFunction>();

function validate({ $ref, ...schema }: AnySchemaObject, data: unknown, what: string): void {
  const key = typeof $ref === 'string' ? `api${$ref}` : JSON.stringify(schema);
  const validator = validators.get(key) ?? ajv.compile(typeof $ref === 'string' ? { $ref: key } : schema);
  validators.set(key, validator);
  void validator(data);
  expect(validator.errors ?? [], `${what}: ${JSON.stringify(data)}`).toEqual([]);
}

/** The operation of a request. Fails if the description has none. */
function operationOf(method: string, path: string): Operation {
  const [pathname = ''] = path.split('?');
  const fits = (template: string): boolean => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname);
  const found = Object.entries(description.paths).find(([template]) => fits(template))?.[1][method.toLowerCase()];
  if (found === undefined) throw new TypeError(`the description has no ${method} ${path}`);
  return found;
}

function responseOf(operation: Operation, status: number): Response {
  const response = operation.responses[status];
  if (response === undefined) throw new TypeError(`${operation.operationId} answers ${status}, which is not described`);
  if (!('$ref' in response)) return response;
  return description.components.responses[response.$ref.split('/').at(-1) ?? ''] ?? {};
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  // A test compares it, or the description has validated it.
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ApiCall {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly secret?: string;
}

interface ApiEvent {
  readonly event: string;
  readonly [field: string]: unknown;
}

export interface EventReader {
  readonly events: readonly ApiEvent[];
  /**
   * Resolves with the first event of this name at or after a position. Rejects if the stream ends
   * before.
   */
  next(event: string, from?: number): Promise<ApiEvent>;
  /** Resolves when the stream has ended. */
  readonly ended: Promise<void>;
  close(): void;
}

/** What an HTTPS client trusts, and its own certificate, in PEM. */
export interface ClientTls {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
}

/** `url` is what the server tells: `http://…`, `https://…` or `unix:…`. */
export class ApiClient {
  readonly #url: string;
  readonly #tls: ClientTls | undefined;

  constructor(url: string, tls?: ClientTls) {
    this.#url = url;
    this.#tls = tls;
  }

  async call(method: string, path: string, call: ApiCall = {}): Promise<ApiAnswer> {
    const response = await this.#send(method, path, call);
    const text = await textOf(response);
    const status = response.statusCode ?? 0;
    const type = response.headers['content-type']?.split(';')[0] ?? '';
    const body: ApiAnswer['body'] = type === 'application/json' ? JSON.parse(text) : {};
    const operation = operationOf(method, path);
    const { content } = responseOf(operation, status);
    answered.add(`${operation.operationId} ${status}`);
    const what = `${operation.operationId} ${status}`;
    expect(content === undefined ? [''] : Object.keys(content), what).toContain(type);
    if (content !== undefined) validate(content[type]?.schema ?? {}, type === 'application/json' ? body : text, what);
    return { status, headers: response.headers, text, body };
  }

  /** Creates a candidacy, and waits until it leads. */
  async leads(path: string, settings: object = {}): Promise<{ readonly secret: string; readonly term: string }> {
    const { status, body } = await this.call('PUT', path, { body: settings });
    expect(status).toBe(201);
    const secret = String(body['secret']);
    for (;;) {
      const { body: now } = await this.call('GET', path, { secret });
      if (now['leads'] === true) return { secret, term: String(now['term']) };
      await new Promise(setImmediate);
    }
  }

  async events(path: string, call: ApiCall = {}): Promise<EventReader> {
    const response = await this.#send('GET', path, call);
    const operation = operationOf('GET', path);
    const schema = responseOf(operation, response.statusCode ?? 0).content?.['text/event-stream']?.['x-event'];
    if (schema === undefined) throw new TypeError(`${operation.operationId} is no stream: ${response.statusCode}`);
    answered.add(`${operation.operationId} ${response.statusCode}`);
    return readEvents(response, (event) => validate(schema, event, operation.operationId));
  }

  #send(method: string, path: string, { body, headers = {}, secret }: ApiCall): Promise<IncomingMessage> {
    const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    const all = {
      ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      ...(secret === undefined ? {} : { 'candidacy-secret': secret }),
      ...headers,
    };
    const where = this.#url.startsWith('unix:') ? { socketPath: this.#url.slice(5) } : {};
    const base = this.#url.startsWith('unix:') ? 'http://localhost' : this.#url;
    return new Promise((resolve, reject) => {
      // Not the name in the header "host", which a test may change.
      const tls = this.#tls === undefined ? {} : { ...this.#tls, servername: 'localhost' };
      const send = base.startsWith('https:') ? sendHttps : sendHttp;
      const request = send(new URL(path, base), { method, headers: all, agent: false, ...where, ...tls }, resolve);
      request.on('error', reject);
      request.end(text);
    });
  }
}

/** The status and the code of an error. */
export function errorOf({ status, body }: ApiAnswer): readonly unknown[] {
  return [status, body['code']];
}

async function textOf(response: IncomingMessage): Promise<string> {
  response.setEncoding('utf8');
  let text = '';
  for await (const part of response) text += String(part);
  return text;
}

function readEvents(response: IncomingMessage, check: (event: unknown) => void): EventReader {
  const events: ApiEvent[] = [];
  const waiting = new Set<() => void>();
  let [isOver, rest] = [false, ''];
  const notify = (): void => {
    for (const wake of waiting) wake();
  };
  response.setEncoding('utf8');
  response.on('data', (part: string) => {
    const blocks = (rest + part).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks.filter((text) => !text.startsWith(':'))) {
      const [, event = '', data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? [];
      const parsed: ApiEvent = { event, ...JSON.parse(data) };
      // The name is a part of the data of a view as its state.
      check('state' in parsed ? JSON.parse(data) : parsed);
      events.push(parsed);
    }
    notify();
  });
  const ended = new Promise<void>((resolve) => {
    response.on('error', () => {});
    response.on('close', () => {
      isOver = true;
      notify();
      resolve();
    });
  });
  const next = async (name: string, from = 0): Promise<ApiEvent> => {
    for (;;) {
      const found = events.slice(from).find(({ event }) => event === name);
      if (found !== undefined) return found;
      if (isOver) throw new Error(`the stream has ended before "${name}": ${JSON.stringify(events)}`);
      await new Promise<void>((resolve) => waiting.add(resolve));
    }
  };
  return { events, next, ended, close: () => void response.destroy() };
}
