/** An HTTP server that does as it is told: for answers that a healthy Consul never gives, and for counting what is asked of it. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Asked {
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Said {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Undefined: no answer, ever. 'reset': the connection ends in its place. */
export type Answer = (asked: Asked) => Said | 'reset' | undefined | Promise<Said | 'reset' | undefined>;

export interface FakeAgent extends AsyncDisposable {
  readonly endpoint: string;
  readonly asked: readonly Asked[];
  /** Requests that have no answer yet. */
  readonly open: number;
  answer: Answer;
}

/** No such key, on a cluster that is well. */
export const ABSENT: Said = {
  status: 404,
  headers: { 'x-consul-index': '7', 'x-consul-knownleader': 'true', 'x-consul-lastcontact': '0' },
};

export function pairs(index: number, ...keys: readonly (readonly [key: string, modified: number])[]): Said {
  const body = keys.map(([Key, ModifyIndex]) => ({ Key, Value: 'eA==', CreateIndex: 5, ModifyIndex, LockIndex: 0, Flags: 0 }));
  return { ...ABSENT, status: 200, body, headers: { ...ABSENT.headers, 'x-consul-index': String(index) } };
}

/** What opening asks: no key is there, and checks can be kept. */
export function opens({ path }: Asked): Said | undefined {
  if (path.startsWith('/v1/kv/')) return ABSENT;
  return path.startsWith('/v1/agent/check') ? { body: {} } : undefined;
}

export async function startFakeAgent(answer: Answer): Promise<FakeAgent> {
  const asked: Asked[] = [];
  const open = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    open.add(response);
    response.on('close', () => open.delete(response));
    void serve(request, response);
  });
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '', 'http://agent');
    const { method = '', headers } = request;
    const one = { method, path: decodeURIComponent(url.pathname), query: url.searchParams, headers, body: await text(request) };
    asked.push(one);
    const said = await agent.answer(one);
    if (said === 'reset') return void request.socket.destroy();
    if (said === undefined) return;
    const { status = 200, body = '', headers: extra = {} } = said;
    response.writeHead(status, { 'content-type': 'application/json', ...extra });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  const agent = {
    endpoint: '',
    asked,
    answer,
    get open() {
      return open.size;
    },
    [Symbol.asyncDispose]: () => stop(server),
  };
  agent.endpoint = `127.0.0.1:${await listen(server)}`;
  return agent;
}

export function listen(server: NetServer): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
