/** The stores of the page, on servers with default settings. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from 'incumbent';
import {
  KEYS_GROUP,
  startConsul,
  startEtcd,
  startKubernetes,
  startPostgres,
  startRedis,
  startZookeeper,
  type OwnServer,
} from '@incumbent/test-support';
import { storeUrl } from './checks/pair.ts';
import type { Host } from './checks/hosts.ts';
import type { Column } from './stores-page.ts';

const NAMESPACE = 'page';

const servers: readonly (readonly [string, Host['store'] | 'postgres', () => Promise<OwnServer>])[] = [
  ['etcd VERSION', 'etcd', () => startEtcd()],
  // ZooKeeper's own default: ticks of 2 s.
  ['ZooKeeper VERSION', 'zookeeper', () => startZookeeper({ tickMs: 2_000 })],
  ['Consul VERSION, with its agent', 'consul', () => startConsul()],
  ['PostgreSQL VERSION', 'postgres', () => startPostgres()],
  ['Redis VERSION', 'redis', () => startRedis()],
];

export async function columns(): Promise<readonly Column[]> {
  const folder = await mkdtemp(join(tmpdir(), 'incumbent-'));
  const found = [await column('SQLite', `sqlite:${join(folder, 'state.db')}`)];
  await rm(folder, { recursive: true });
  for (const [title, store, start] of servers) {
    await using server = await start();
    found.push(await column(title.replace('VERSION', server.version), storeUrl([server.url], NAMESPACE, store)));
  }
  await using server = await startKubernetes();
  const resource = encodeURIComponent(`${KEYS_GROUP}/v1/configmaps/ConfigMap`);
  const url = `kubernetes://admin/default/${NAMESPACE}?kubeconfig=${encodeURIComponent(server.kubeconfig)}&keysResource=${resource}`;
  found.push(await column(`Kubernetes ${server.version}`, url));
  return found;
}

async function column(title: string, url: string): Promise<Column> {
  await using store = await openStore(url);
  return { title, capabilities: store.capabilities };
}
