/** An HTTP proxy before an agent, which may keep a request or its answer to itself, or answer in the agent's place. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** An answer of the proxy's own. */
export interface Page {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** What becomes of one request. */
export type Fate =
  | { readonly kind: 'pass' }
  /** It does not reach the agent: the connection is reset, or the page is the answer. */
  | { readonly kind: 'keep'; readonly page?: Page }
  /** The agent serves it, and its answer is lost: the connection is reset, or the page takes the answer's place. */
  | { readonly kind: 'keepAnswer'; readonly page?: Page };

export interface HttpProxy extends AsyncDisposable {
  /** `host:port` */
  readonly endpoint: string;
}

/** Passes on to the agent at this address what `fateOf` does not take. */
export async function startHttpProxy(url: string, fateOf: (request: IncomingMessage) => Fate): Promise<HttpProxy> {
  const server = createServer((request, response) => {
    const serve = async (): Promise<void> => {
      const fate = fateOf(request);
      const body = await buffer(request);
      if (fate.kind === 'keep') return answerItself(request, response, fate.page);
      const over = new AbortController();
      response.on('close', () => over.abort());
      const answer = await ask(url, request, body, over.signal);
      const text = await answer.text();
      if (fate.kind === 'keepAnswer') return answerItself(request, response, fate.page);
      const kept = [...answer.headers].filter(([name]) => name.startsWith('x-consul-'));
      response.writeHead(answer.status, Object.fromEntries(kept)).end(text);
    };
    serve().catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    endpoint: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answerItself(request: IncomingMessage, response: ServerResponse, page: Page | undefined): void {
  if (page === undefined) request.socket.destroy();
  else response.writeHead(page.status, { 'content-type': page.type }).end(page.text);
}

function ask(url: string, { method = '', url: path = '', headers }: IncomingMessage, body: Buffer, signal: AbortSignal): Promise<Response> {
  const sent = method === 'PUT' ? { body: new Uint8Array(body) } : {};
  const type = headers['content-type'];
  return fetch(new URL(path, url), { method, signal, headers: type === undefined ? {} : { 'content-type': type }, ...sent });
}
