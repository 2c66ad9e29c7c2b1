/** The HTTP server: listens, checks access, finds the route, and writes the answer. */

import { once } from 'node:events';
import { lstat, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions as TlsServerOptions } from 'node:https';
import { connect, type Socket } from 'node:net';

import { onAbort } from '@incumbent/core/adapter';

import { limitConnections } from '../../common/connections.ts';
import { toJson } from '../../common/json.ts';
import { ApiError, errorAnswer } from '../api-error.ts';
import { type AccessRules, checkAccess } from './access.ts';
import { EventStream, STREAM_HEADERS } from './event-stream.ts';
import type { Answer, Route } from './route.ts';
import { Router } from './router.ts';

/** Where the server listens. */
export type ListenAddress = { readonly host: string; readonly port: number } | { readonly path: string };

export interface ApiServerOptions {
  readonly address: ListenAddress;
  readonly access: AccessRules;
  readonly tls?: TlsServerOptions;
  readonly routes: readonly Route[];
  /** Which paths there are, for a request for another one. Default: where the API is described. */
  readonly pathsHint?: string;
  /** Headers of every answer. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Called with an error that is not the client's. */
  readonly failed: (error: unknown) => void;
}

/** The most connections. Each event stream is one. */
const MAX_CONNECTIONS = 25_000;
const PING_EVERY_MS = 15_000;
/** How long requests may go on after `close` was called, in ms. */
const CLOSE_MS = 500;
const TIMEOUTS = { headersTimeout: 5_000, requestTimeout: 15_000, keepAliveTimeout: 60_000 } as const;
/** How long a client may take for the handshake of TLS. */
const handshakeTimeout = 5_000;

export class ApiServer implements AsyncDisposable {
  /** Where clients reach it: a URL, or `unix:` and the path of the socket. */
  readonly url: string;
  readonly #server: Server;
  readonly #streams: Set<EventStream>;
  /** All connections, also those in the handshake of TLS, which the server does not close. */
  readonly #sockets = new Set<Socket>();
  readonly #pings: NodeJS.Timeout;

  /** Rejects with the error of the system if it cannot listen. */
  static async start(options: ApiServerOptions): Promise<ApiServer> {
    const streams = new Set<EventStream>();
    const router = new Router(options.routes, options.pathsHint);
    const handler = (request: IncomingMessage, response: ServerResponse): void => void respond(options, router, streams, request, response);
    const server =
      options.tls === undefined
        ? createServer(TIMEOUTS, handler)
        : createTlsServer({ ...TIMEOUTS, handshakeTimeout, ...options.tls }, handler);
    limitConnections(server, MAX_CONNECTIONS, (message) => options.failed(new ApiError('TOO_MANY', message)));
    await listen(server, options.address);
    return new ApiServer(server, streams, options);
  }

  private constructor(server: Server, streams: Set<EventStream>, { address, tls, failed }: ApiServerOptions) {
    this.#server = server;
    this.#streams = streams;
    this.url = urlOf(server, address, tls !== undefined);
    // A connection that cannot be accepted must not end this process.
    server.on('error', failed);
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#pings = setInterval(() => {
      for (const stream of streams) stream.ping();
    }, PING_EVERY_MS);
    this.#pings.unref();
  }

  /** Ends all streams and connections, and stops listening. Idempotent. */
  async close(): Promise<void> {
    clearInterval(this.#pings);
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    for (const stream of this.#streams) stream.end();
    this.#server.closeIdleConnections();
    const timer = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, CLOSE_MS).unref();
    await closed;
    clearTimeout(timer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

async function respond(
  { access, failed, headers = {} }: ApiServerOptions,
  router: Router,
  streams: Set<EventStream>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.setHeaders(new Map(Object.entries(headers)));
  try {
    const url = targetOf(request);
    checkAccess(access, request, url.pathname);
    const { route, parameters } = router.find(request.method ?? '', url.pathname);
    const onClosed = (listener: () => void): void => {
      // The client may have gone already.
      if (response.destroyed) listener();
      else response.once('close', listener);
    };
    write(response, await route.handle({ request, parameters, query: url.searchParams, onClosed }), streams);
  } catch (error) {
    const { status, body } = errorAnswer(error);
    if (status === 500) failed(error);
    if (response.headersSent) return void response.destroy();
    if (error instanceof ApiError) response.setHeaders(new Map(Object.entries(error.headers)));
    // The rest of a body that is too long is not read.
    if (!request.complete) response.setHeader('connection', 'close');
    write(response, { status, body }, streams);
  }
}

/** @throws `BAD_REQUEST` for a path that no URL can have, such as `//`. */
function targetOf({ url = '/' }: IncomingMessage): URL {
  const base = 'http://localhost';
  if (!URL.canParse(url, base)) throw new ApiError('BAD_REQUEST', 'the path is not valid in a URL');
  return new URL(url, base);
}

function write(response: ServerResponse, answer: Answer, streams: Set<EventStream>): void {
  const isHead = response.req.method === 'HEAD';
  if ('stream' in answer) {
    if (isHead) return void response.writeHead(200, STREAM_HEADERS).end();
    const stream = new EventStream(response);
    streams.add(stream);
    onAbort(stream.closed, () => void streams.delete(stream));
    return answer.stream(stream);
  }
  const text = 'text' in answer ? answer.text : 'body' in answer ? `${toJson(answer.body)}\n` : '';
  // An empty text has a type as well: Prometheus 3 takes no page of metrics without one.
  const type = 'text' in answer ? { 'content-type': answer.contentType } : 'body' in answer ? { 'content-type': 'application/json' } : {};
  response.writeHead(answer.status, { ...type, 'cache-control': 'no-store' });
  response.end(isHead ? '' : text);
}

async function listen(server: Server, address: ListenAddress): Promise<void> {
  if (!('path' in address)) {
    server.listen(address);
    await once(server, 'listening');
    return;
  }
  await removeStale(address.path);
  // Only this user may connect. The folder and its permissions are the way to let others in.
  const before = process.umask(0o177);
  try {
    server.listen(address);
    await once(server, 'listening');
  } finally {
    process.umask(before);
  }
}

/** Removes the socket of a process that has been killed. A socket that somebody serves stays. */
async function removeStale(path: string): Promise<void> {
  // Connecting to a file of another kind fails in the same way.
  const there = await lstat(path).catch(() => undefined);
  if (there?.isSocket() !== true) return;
  const socket = connect(path);
  const isStale = await new Promise<boolean>((resolve) => {
    socket.on('connect', () => resolve(false));
    socket.on('error', (error) => resolve('code' in error && error.code === 'ECONNREFUSED'));
  });
  socket.destroy();
  if (isStale) await rm(path);
}

function urlOf(server: Server, address: ListenAddress, isTls: boolean): string {
  if ('path' in address) return `unix:${address.path}`;
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : address.port;
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return `${isTls ? 'https' : 'http'}://${host}:${port}`;
}
