/**
 * How brokers and clients talk: JSON over HTTP, one request a call. What is refused for a term or an epoch that is too old is answered with the newer one:
 * a fence's `STALE_TERM` becomes status 409 here, and `STALE_TERM` again at the caller.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { IncumbentError, isIncumbentError } from 'incumbent';
import { recordOf, term, type Shape } from './shapes.ts';

/** No request is longer, in bytes. */
export const MAX_BODY_BYTES = 1_048_576;
const HOST = '127.0.0.1';

/** Somebody else can do it: the caller is sent there. */
export class Elsewhere extends Error {
  readonly url: string;

  constructor(url: string) {
    super(`ask ${url}`);
    this.url = url;
  }
}

/** Nobody can do it now; it may go in a moment. */
export class Unavailable extends Error {}

/** Answers one request: with what goes back as JSON, or by writing the response itself. */
export type Handler = (body: unknown, exchange: { readonly request: IncomingMessage; readonly response: ServerResponse }) => unknown;

/** By method and path: `POST /produce`. */
export type Routes = Readonly<Record<string, Handler>>;

/** Listens on the loopback address, on this port or, where that is taken, on any that is free; resolves with its URL. */
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

/** A page of somebody else's, open in the same browser, has no business here. */
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
  if (isIncumbentError(error, 'STALE_TERM')) return end(response, 409, { error: message, seen: String(error.details['seen']) });
  if (error instanceof Unavailable) return end(response, 503, { error: message });
  if (error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError)
    return end(response, 400, { error: message });
  end(response, 500, { error: message });
}

function end(response: ServerResponse, status: number, body: unknown): void {
  const json = JSON.stringify(body, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  response.writeHead(status, { 'content-type': 'application/json' }).end(json);
}

/** A request was answered, with a refusal that is none of those above. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const staleShape = recordOf({ seen: term });

/**
 * Makes one call, following whoever it is sent to. Rejects with `STALE_TERM`, with {@link Unavailable}, with {@link Refused}; or, where nobody knows whether it was
 * heard, with what `fetch` says.
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
    const { seen } = staleShape(reply);
    throw new IncumbentError('STALE_TERM', `${url}${path} has seen a newer term: ${seen}`, { details: { seen } });
  }
  if (response.status === 503) throw new Unavailable(said);
  throw new Refused(response.status, `${url}${path} answered ${response.status}: ${said}`);
}
