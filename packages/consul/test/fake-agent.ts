/**
 * An HTTP server in an agent's place: for responses that a healthy Consul never sends, and for
 * counting requests.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { text } from 'node:stream/consumers';

import type { Clock, LeaseOptions, Store, TimedCall } from '@incumbent/core';
import { momentOf, systemClock } from '@incumbent/core/adapter';

import { openConsul, type ConsulOptions } from '../src/index.ts';

export interface FakeRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface FakeResponse {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Undefined: there is no response, ever. 'reset': the connection closes instead. */
type Reaction = FakeResponse | 'reset' | undefined;
export type Respond = (request: FakeRequest) => Reaction | Promise<Reaction>;

export interface FakeAgent extends AsyncDisposable {
  readonly endpoint: string;
  readonly requests: readonly FakeRequest[];
  /** The number of requests without a response so far. */
  readonly pending: number;
  respond: Respond;
}

/** There is no such key, and the cluster is healthy. */
export const ABSENT: FakeResponse = {
  status: 404,
  headers: { 'x-consul-index': '7', 'x-consul-knownleader': 'true', 'x-consul-lastcontact': '0' },
};

export function pairs(index: number, ...keys: readonly (readonly [key: string, modified: number])[]): FakeResponse {
  const body = keys.map(([Key, ModifyIndex]) => ({ Key, Value: 'eA==', CreateIndex: 5, ModifyIndex, LockIndex: 0, Flags: 0 }));
  return { ...ABSENT, status: 200, body, headers: { ...ABSENT.headers, 'x-consul-index': String(index) } };
}

/** Responds to the requests of an opening: no key exists, and services can be registered. */
export function opens({ path }: FakeRequest): FakeResponse | undefined {
  if (path.startsWith('/v1/kv/')) return ABSENT;
  return /^\/v1\/agent\/(?:service|check)\//.test(path) ? { body: {} } : undefined;
}

export const SESSION = '11111111-2222-3333-4444-555555555555';

/** Responds to all requests about leases as well. Each session has the id {@link SESSION}. */
export function servesLeases(request: FakeRequest): FakeResponse | undefined {
  if (request.path === '/v1/session/create') return { body: { ID: SESSION } };
  return request.path.startsWith('/v1/session/') ? { body: [] } : opens(request);
}

/** The options of a lease call that is made now. */
export function leaseCall(clock: Clock = systemClock, timeoutMs = 5_000): TimedCall<LeaseOptions> {
  return { timeoutMs, at: momentOf(clock) };
}

export interface FakeConsul extends AsyncDisposable {
  readonly agent: FakeAgent;
  readonly store: Store;
  /** The requests since the store was opened. */
  requests(): readonly FakeRequest[];
}

/** Opens a store on a fake agent of its own. */
export async function openOnFakeAgent(respond: Respond = opens, options: Partial<ConsulOptions> = {}): Promise<FakeConsul> {
  const agent = await startFakeAgent(respond);
  const store = await openConsul({ endpoint: agent.endpoint, namespace: 'app', ...options });
  const from = agent.requests.length;
  return {
    agent,
    store,
    requests: () => agent.requests.slice(from),
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await agent[Symbol.asyncDispose]();
    },
  };
}

export async function startFakeAgent(respond: Respond): Promise<FakeAgent> {
  const requests: FakeRequest[] = [];
  const pending = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    pending.add(response);
    response.on('close', () => pending.delete(response));
    void serve(request, response);
  });
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '', 'http://agent');
    const { method = '', headers } = request;
    const received = { method, path: decodeURIComponent(url.pathname), query: url.searchParams, headers, body: await text(request) };
    requests.push(received);
    const reaction = await agent.respond(received);
    if (reaction === 'reset') return void request.socket.destroy();
    if (reaction === undefined) return;
    const { status = 200, body = '', headers: extra = {} } = reaction;
    response.writeHead(status, { 'content-type': 'application/json', ...extra });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  const agent = {
    endpoint: '',
    requests,
    respond,
    get pending() {
      return pending.size;
    },
    [Symbol.asyncDispose]: () => stop(server),
  };
  agent.endpoint = `127.0.0.1:${await listen(server)}`;
  return agent;
}

/** The paths of the requests that contain this part. */
export function paths(agent: FakeAgent, part: string): readonly string[] {
  return agent.requests.map(({ path }) => path).filter((path) => path.includes(part));
}

export function listen(server: NetServer): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

export function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
