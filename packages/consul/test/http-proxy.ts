/** An HTTP proxy in front of an agent, which drops requests or responses, or responds itself. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

import { listen, stop } from './fake-agent.ts';

/** A response of the proxy itself. */
export interface Page {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** What the proxy does with a request. */
export type Fate =
  | { readonly kind: 'forward' }
  /**
   * The agent does not receive the request. The proxy resets the connection, or responds with the
   * page.
   */
  | { readonly kind: 'drop'; readonly page?: Page }
  /**
   * The agent serves the request, and its response is lost. The proxy resets the connection, or
   * responds with the page.
   */
  | { readonly kind: 'dropResponse'; readonly page?: Page };

export interface HttpProxy extends AsyncDisposable {
  /** `host:port` */
  readonly endpoint: string;
}

/** Forwards to the agent at this address, as far as `fateOf` says so. */
export async function startHttpProxy(url: string, fateOf: (request: IncomingMessage) => Fate): Promise<HttpProxy> {
  const server = createServer((request, response) => {
    const serve = async (): Promise<void> => {
      const fate = fateOf(request);
      const body = await buffer(request);
      if (fate.kind === 'drop') return respond(request, response, fate.page);
      const over = new AbortController();
      response.on('close', () => over.abort());
      const answer = await ask(url, request, body, over.signal);
      const text = await answer.text();
      if (fate.kind === 'dropResponse') return respond(request, response, fate.page);
      const kept = [...answer.headers].filter(([name]) => name.startsWith('x-consul-'));
      response.writeHead(answer.status, Object.fromEntries(kept)).end(text);
    };
    serve().catch(() => request.socket.destroy());
  });
  return { endpoint: `127.0.0.1:${await listen(server)}`, [Symbol.asyncDispose]: () => stop(server) };
}

function respond(request: IncomingMessage, response: ServerResponse, page: Page | undefined): void {
  if (page === undefined) request.socket.destroy();
  else response.writeHead(page.status, { 'content-type': page.type }).end(page.text);
}

function ask(url: string, { method = '', url: path = '', headers }: IncomingMessage, body: Buffer, signal: AbortSignal): Promise<Response> {
  const sent = method === 'PUT' ? { body: new Uint8Array(body) } : {};
  const type = headers['content-type'];
  return fetch(new URL(path, url), { method, signal, headers: type === undefined ? {} : { 'content-type': type }, ...sent });
}
