/** Clients of fake servers. */

import { connectSocket } from '@incumbent/network';

import { Client, type ClientOptions } from '../src/client/client.ts';
import { range } from '../src/protocol/kv.ts';
import type { Answer } from './fake-server.ts';

const clients: Client[] = [];

/** Call it after each test. */
export async function closeClients(): Promise<void> {
  await Promise.all(clients.splice(0).map((client) => client.close()));
}

export function clientOf(ports: readonly number[], options: Partial<ClientOptions> = {}): Client {
  const client = new Client({
    endpoints: ports.map((port) => ({ host: '127.0.0.1', port })),
    first: 0,
    credentials: undefined,
    secure: false,
    dialTimeoutMs: 500,
    maxRequests: 1_000,
    keepalive: { intervalMs: 10_000, timeoutMs: 200 },
    connect: (endpoint, signal) => connectSocket(endpoint, {}, signal),
    ...options,
  });
  clients.push(client);
  return client;
}

export function read(client: Client, timeoutMs = 1_000, signal?: AbortSignal): Promise<unknown> {
  return client.call(range, { key: 'a' }, { timeoutMs, ...(signal === undefined ? {} : { signal }) });
}

/** A long deadline, for a busy machine. */
export const SOON = { timeout: 5_000 };

/** Never answers. */
export const silent: Answer = () => {};
