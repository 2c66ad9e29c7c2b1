/**
 * What a server says that it was asked, in all: an account that shares no code with any contestant.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { fourLetterWord, type OwnServer } from '@incumbent/test-support';

export async function requestsOf(
  store: 'etcd' | 'zookeeper' | 'consul' | 'redis',
  server: OwnServer,
  commands: readonly string[] = [],
): Promise<number | undefined> {
  switch (store) {
    case 'etcd':
      return etcdMessages(server.url);
    case 'zookeeper':
      // The word that asks is no packet of this count.
      return Number(/^zk_packets_received\s+(\d+)/m.exec(await fourLetterWord(server, 'mntr'))?.[1] ?? NaN);
    case 'redis':
      return redisCalls(server, commands);
    case 'consul':
      return consulRequests(server.url);
    default:
      return store satisfies never;
  }
}

/** gRPC messages received, streams' included. */
async function etcdMessages(url: string): Promise<number> {
  const text = await textOf(`${url}/metrics`);
  return [...text.matchAll(/^grpc_server_msg_received_total\{.*\} (\S+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** HTTP requests that were answered, but for those that ask for this. */
async function consulRequests(url: string): Promise<number> {
  const text = await textOf(`${url}/v1/agent/metrics?format=prometheus`);
  const counts = [...text.matchAll(/^consul_http_(?!GET_v1_agent_metrics)\w+_count(?:\{.*\})? (\S+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

const TRIES = 30;
const PAUSE_MS = 1_000;

/** A server that ends thousands of sessions may take no connection for a moment. */
async function textOf(url: string): Promise<string> {
  for (let left = TRIES - 1; ; left -= 1) {
    try {
      return await (await fetch(url, { headers: { connection: 'close' } })).text();
    } catch (error) {
      if (left === 0) throw new Error(`${url} does not answer: ${reasonOf(error)}`, { cause: error });
      await sleep(PAUSE_MS);
    }
  }
}

/** What `fetch` says of itself is that it failed. */
function reasonOf(error: unknown): string {
  return String(error instanceof Error ? (error.cause ?? error) : error);
}

/**
 * Scripts, and what else the contestant sends: the server counts what scripts do in their turn,
 * too, and does not tell it apart.
 */
async function redisCalls(server: OwnServer, commands: readonly string[]): Promise<number> {
  const lines = (await server.ctl(['INFO', 'commandstats'])).matchAll(/^cmdstat_([\w|]+):calls=(\d+)/gm);
  const counts = new Map([...lines].map(([, name = '', calls]) => [name, Number(calls)]));
  return ['evalsha', 'eval', 'ping', ...commands].reduce((sum, name) => sum + (counts.get(name) ?? 0), 0);
}
