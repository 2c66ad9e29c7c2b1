import { consulPrograms } from './consul/source.ts';
import { etcdPrograms } from './etcd/source.ts';
import { kubernetesPrograms } from './kubernetes/source.ts';
import { firstOf } from './source.ts';

/**
 * The folder of this machine with a store's own programs, for tests of their behaviour: `consul`,
 * or `etcd` and `etcdctl`, or `client-go` and `client-go-driver`, which are elected by Kubernetes'
 * client. Throws `StoreUnavailable` if there is none.
 */
export function programsOf(store: 'consul' | 'etcd' | 'kubernetes'): Promise<string> {
  if (store === 'kubernetes') return kubernetesPrograms();
  return firstOf(store, { consul: consulPrograms, etcd: etcdPrograms }[store]);
}
