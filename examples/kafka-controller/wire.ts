/**
 * The protocol of brokers and clients: JSON over HTTP, one request per call. A request with an old
 * term or epoch is answered with the newer one: a fence's `STALE_TERM` becomes status 409, and
 * `STALE_TERM` again at the caller.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { IncumbentError, isIncumbentError } from 'incumbent';
import { recordOf, term, type Shape } from './shapes.ts';

/** The longest request, in bytes. */
export const MAX_BODY_BYTES = 1_048_576;
const HOST = '127.0.0.1';

/** Another broker can do it: the caller is redirected there. */
export class Elsewhere extends Error {
  readonly url: string;

  constructor(url: string) {
    super(`ask ${url}`);
    this.url = url;
  }
}

/** No broker can do it now; a retry may succeed. */
export class Unavailable extends Error {}

/** Handles one request: returns the JSON answer, or writes the response itself. */
export type Handler = (body: unknown, exchange: { readonly request: IncomingMessage; readonly response: ServerResponse }) => unknown;

/** Handlers by method and path, such as `POST /produce`. */
export type Routes = Readonly<Record<string, Handler>>;

/**
 * Listens on the loopback address, on this port or, if it is used, on any free one. Resolves with
 * the URL.
 */
export async function serve(routes: Routes, port = 0): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer((request, response) => void answer(routes, request, response));
  await listen(server, port).catch(() => listen(server, 0));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return { server, url: `http://${HOST}:${address.port}` };
}

function listen(server: Server, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen(port, HOST, () => {
    server.off('error', reject);
    resolve();
  });
  return promise;
}

/** Rejects requests of other web pages in the same browser. */
function isForeign({ headers }: IncomingMessage): boolean {
  const { origin, host } = headers;
  return host?.startsWith(`${HOST}:`) !== true || (origin !== undefined && !origin.startsWith(`http://${HOST}:`));
}

async function answer(routes: Routes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (isForeign(request)) return end(response, 403, { error: 'only for this host' });
  if (request.headers.origin !== undefined) response.setHeader('access-control-allow-origin', request.headers.origin); // the page of one broker asks all
  try {
    const path = new URL(request.url ?? '/', 'http://broker').pathname;
    const handler = routes[`${request.method} ${path}`];
    if (handler === undefined) return end(response, 404, { error: `there is no ${request.method} ${path}` });
    const reply = await handler(request.method === 'POST' ? await bodyOf(request) : undefined, { request, response });
    if (!response.headersSent) end(response, 200, reply ?? {});
  } catch (error) {
    if (!response.headersSent) refuse(response, error);
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    if (!(chunk instanceof Buffer)) continue;
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new RangeError(`a request is at most ${MAX_BODY_BYTES} bytes long`);
    chunks.push(chunk);
  }
  return bytes === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

function refuse(response: ServerResponse, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof Elsewhere) {
    response.setHeader('location', error.url);
    return end(response, 307, { error: message });
  }
  if (isIncumbentError(error, 'STALE_TERM')) return end(response, 409, { error: message, ...error.details });
  if (error instanceof Unavailable) return end(response, 503, { error: message });
  if (error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError)
    return end(response, 400, { error: message });
  end(response, 500, { error: message });
}

function end(response: ServerResponse, status: number, body: unknown): void {
  const json = JSON.stringify(body, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  response.writeHead(status, { 'content-type': 'application/json' }).end(json);
}

/** The request was answered with another error. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const staleShape = recordOf({ term, seen: term });

/**
 * Makes one call and follows redirects. Rejects with `STALE_TERM`, {@link Unavailable} or {@link
 * Refused}; if it is unknown whether the request arrived, with the error of `fetch`.
 */
export async function call<T>(
  url: string,
  path: string,
  body: unknown,
  options: { readonly reply: Shape<T>; readonly timeoutMs: number },
): Promise<T> {
  const json = JSON.stringify(body, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  const response = await fetch(`${url}${path}`, { method: 'POST', body: json, signal: AbortSignal.timeout(options.timeoutMs) });
  const reply: unknown = await response.json();
  if (response.ok) return options.reply(reply);
  const said = JSON.stringify(reply);
  if (response.status === 409) {
    const details = staleShape(reply);
    throw new IncumbentError('STALE_TERM', `${url}${path} has seen a newer term: ${details.seen}`, { details });
  }
  if (response.status === 503) throw new Unavailable(said);
  throw new Refused(response.status, `${url}${path} answered ${response.status}: ${said}`);
}
