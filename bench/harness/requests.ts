/** The number of requests that a server reports. Shares no code with any contestant. */

import { setTimeout as sleep } from 'node:timers/promises';
import { fourLetterWord, type KubernetesServer, type OwnServer } from '@incumbent/test-support';

export async function requestsOf(
  store: 'etcd' | 'zookeeper' | 'consul' | 'postgres' | 'redis',
  server: OwnServer,
  commands: readonly string[] = [],
): Promise<number | undefined> {
  switch (store) {
    case 'etcd':
      return etcdMessages(server.url);
    case 'zookeeper':
      // The packet that asks is not counted.
      return Number(/^zk_packets_received\s+(\d+)/m.exec(await fourLetterWord(server, 'mntr'))?.[1] ?? NaN);
    case 'postgres':
      return Number(await server.ctl(['-c', STATEMENTS]));
    case 'redis':
      return redisCalls(server, commands);
    case 'consul':
      return consulRequests(server.url);
    default:
      return store satisfies never;
  }
}

/** Statements of all clients, except those that read this number. */
const STATEMENTS = `select coalesce(sum(calls), 0) from pg_stat_statements where query not like '%pg_stat_%'`;

/** gRPC messages received, including those of streams. */
async function etcdMessages(url: string): Promise<number> {
  const text = await textOf(`${url}/metrics`);
  return [...text.matchAll(/^grpc_server_msg_received_total\{.*\} (\S+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** HTTP requests that were answered, except those that read this number. */
async function consulRequests(url: string): Promise<number> {
  const text = await textOf(`${url}/v1/agent/metrics?format=prometheus`);
  const counts = [...text.matchAll(/^consul_http_(?!GET_v1_agent_metrics)\w+_count(?:\{.*\})? (\S+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Requests for objects that were answered. A watch counts when it ends. */
export async function kubernetesRequests(server: KubernetesServer): Promise<number> {
  const { body } = await server.call('GET', '/metrics');
  const counts = [...String(body).matchAll(/^apiserver_request_total\{.*\} (\S+)$/gm)];
  if (counts.length === 0) throw new Error('the API server counts no requests');
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

const TRIES = 30;
const PAUSE_MS = 1_000;

/** A server that ends thousands of sessions may accept no connection for a moment. */
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

/** The message of `fetch` itself says only that it failed. */
function reasonOf(error: unknown): string {
  return String(error instanceof Error ? (error.cause ?? error) : error);
}

/**
 * Scripts, and the other commands of the contestant. The server also counts the commands within
 * scripts, and does not report them separately.
 */
async function redisCalls(server: OwnServer, commands: readonly string[]): Promise<number> {
  const lines = (await server.ctl(['INFO', 'commandstats'])).matchAll(/^cmdstat_([\w|]+):calls=(\d+)/gm);
  const counts = new Map([...lines].map(([, name = '', calls]) => [name, Number(calls)]));
  return ['evalsha', 'eval', 'ping', ...commands].reduce((sum, name) => sum + (counts.get(name) ?? 0), 0);
}
