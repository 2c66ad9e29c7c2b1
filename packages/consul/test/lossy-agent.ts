/** An agent's HTTP API, of which one request or its answer is lost. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** What is lost of the request whose turn it is: all of it, or its answer alone, after it was served. */
export type Loss = 'request' | 'answer';

export interface LossyAgent extends AsyncDisposable {
  readonly endpoint: string;
  /** The path of what was lost. */
  readonly lost: readonly string[];
  /** From here on writes are counted. */
  arm(): void;
}

/** One of the writes of a kind after `arm`, in their order, from 1. */
export interface Turn {
  /** What its path begins with, behind `/v1/`. */
  readonly kind: string;
  readonly nth: number;
}

/** Passes on to the agent at this address, but for one write. */
export async function startLossyAgent(url: string, { kind, nth }: Turn, loss: Loss): Promise<LossyAgent> {
  let served = 0;
  const lost: string[] = [];
  let isArmed = false;
  const server = createServer((request, response) => {
    const serve = async (): Promise<void> => {
      const { method = '', url: path = '', headers } = request;
      const counts = isArmed && method === 'PUT' && path.startsWith(`/v1/${kind}`);
      if (counts) served += 1;
      const isIts = counts && served === nth;
      if (isIts) lost.push(path);
      const body = await buffer(request);
      if (isIts && loss === 'request') return void request.socket.destroy();
      const over = new AbortController();
      response.on('close', () => over.abort());
      const sent = method === 'PUT' ? { body: new Uint8Array(body) } : {};
      const type = headers['content-type'];
      const answer = await fetch(new URL(path, url), {
        method,
        signal: over.signal,
        headers: type === undefined ? {} : { 'content-type': type },
        ...sent,
      });
      const text = await answer.text();
      if (isIts) return void request.socket.destroy();
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
    lost,
    arm: () => {
      isArmed = true;
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
