/** A store of each kind, for `run`. */

import { join } from 'node:path';
import {
  makeScratch,
  sharedConsul,
  sharedEtcd,
  sharedPostgres,
  sharedRedis,
  sharedZookeeper,
  uniqueNamespace,
} from '@incumbent/test-support';

export interface StoreUnderTest {
  readonly name: 'sqlite' | 'etcd' | 'consul' | 'zookeeper' | 'postgres' | 'redis';
  /** A short ttl that a busy machine can still keep. */
  readonly ttl: string;
  /** Options that `run` needs to accept the store. */
  readonly options: readonly string[];
  /** A URL with a new namespace. */
  fresh(): Promise<string>;
}

function at(scheme: string, address: string): string {
  return `${scheme}://${new URL(address).host}/${uniqueNamespace('cli')}`;
}

export const stores: readonly StoreUnderTest[] = [
  { name: 'sqlite', ttl: '5s', options: [], fresh: async () => `sqlite:${join((await makeScratch('cli')).path, 'state.db')}` },
  { name: 'etcd', ttl: '5s', options: [], fresh: async () => at('etcd', (await sharedEtcd()).url) },
  { name: 'consul', ttl: '5s', options: [], fresh: async () => at('consul', (await sharedConsul()).url) },
  { name: 'zookeeper', ttl: '5s', options: [], fresh: async () => at('zookeeper', (await sharedZookeeper()).url) },
  {
    name: 'postgres',
    ttl: '5s',
    options: [],
    fresh: async () => `${(await sharedPostgres()).url}?namespace=${uniqueNamespace('cli')}`,
  },
  { name: 'redis', ttl: '5s', options: ['--accept-weak-store', 'redis'], fresh: async () => at('redis', (await sharedRedis()).url) },
];
