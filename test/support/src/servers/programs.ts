import { consulPrograms } from './consul/source.ts';
import { etcdPrograms } from './etcd/source.ts';
import { firstOf } from './source.ts';

/**
 * The folder of this machine with a store's own programs, for tests of their behaviour: `consul`,
 * or `etcd` and `etcdctl`. Throws `StoreUnavailable` if there is none.
 */
export function programsOf(store: 'consul' | 'etcd'): Promise<string> {
  return firstOf(store, { consul: consulPrograms, etcd: etcdPrograms }[store]);
}
