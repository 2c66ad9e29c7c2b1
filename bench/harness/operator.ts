/** Deletes the key by which a candidate leads, as an operator would with the store's own tools. */

import { openStore } from 'incumbent';
import type { Contestant } from './contestants.ts';
import type { Stage } from './stage.ts';

/** Whether the key of the contestant is known. */
export function canDelete({ kind, store }: Contestant): boolean {
  return kind === 'ours' || store === 'etcd' || store === 'consul' || store === 'redis';
}

/**
 * Deletes the leader's key of the election `e`. Resolves when the server has confirmed the
 * deletion.
 */
export async function deleteLeader(stage: Stage, { kind, store, keyPrefix = '' }: Contestant, namespace: string): Promise<void> {
  if (kind === 'ours') return deleteOurs(stage, namespace);
  const key = `${keyPrefix}${namespace}/e`;
  switch (store) {
    case 'etcd':
      return deleteInEtcd(stage.url, `${key}/`);
    case 'consul': {
      await ask('DELETE', `${stage.url}/v1/kv/${key}`);
      return undefined;
    }
    case 'redis': {
      await stage.server?.ctl(['DEL', key]);
      return undefined;
    }
    case 'postgres':
    case 'zookeeper':
    case 'kubernetes':
    case 'sqlite':
    case 'memory':
      throw new TypeError(`nobody knows by which key others lead on ${store}`);
    default:
      return store satisfies never;
  }
}

async function deleteOurs(stage: Stage, namespace: string): Promise<void> {
  await using store = await openStore(stage.storeUrl(namespace));
  const timeoutMs = 5_000;
  const leader = await store.read('elections/e/leader', { timeoutMs });
  if (leader === undefined) throw new Error('nobody leads');
  const { swapped } = await store.compareAndSwap([{ key: leader.key, expect: leader.revision, delete: true }], { timeoutMs });
  if (!swapped) throw new Error('the leader has changed');
}

/** Waiting candidates also have keys there. The leader has the oldest. */
async function deleteInEtcd(url: string, prefix: string): Promise<void> {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const [key, end] = [base64(prefix), base64(`${prefix}\u{7f}`)];
  const found = await ask('POST', `${url}/v3/kv/range`, { key, range_end: end, limit: '1', sort_target: 'CREATE', keys_only: true });
  const first = /"key":\s*"([^"]+)"/.exec(found)?.[1];
  if (first === undefined) throw new Error('nobody leads');
  await ask('POST', `${url}/v3/kv/deleterange`, { key: first });
}

async function ask(method: string, url: string, body?: unknown): Promise<string> {
  const answer = await fetch(url, body === undefined ? { method } : { method, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${url}: status ${answer.status}`);
  return answer.text();
}
