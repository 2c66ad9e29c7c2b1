import { etcdKind } from '../etcd/kind.ts';
import { instancePlan, pickAddresses } from '../etcd/plan.ts';
import { ServerProcess } from '../process.ts';
import type { ServerSource } from '../server-source.ts';
import { onlyServer, startCluster, startServers, type Premises } from '../start.ts';
import type { OwnServer } from '../types.ts';
import { kubernetesSource } from './source.ts';

/**
 * Starts the etcd that comes with the API server, without the API server, for this process alone.
 * It is the newest etcd of the tests. Throws `StoreUnavailable` if the API server cannot be built.
 */
export async function startKubernetesEtcd(): Promise<OwnServer> {
  const source = await kubernetesSource();
  return onlyServer(await startCluster('kubernetes-etcd', (premises) => startEtcdServer(premises, source)));
}

/** Starts the etcd behind an API server. */
export function startEtcdServer(premises: Premises, source: ServerSource): Promise<readonly ServerProcess[]> {
  const plan = { folder: premises.folder, certificates: undefined, links: undefined, flags: ['--unsafe-no-fsync'] };
  return startServers(premises, async () => {
    const addresses = await pickAddresses(1, plan);
    return addresses.map((self) => {
      const instance = source.instance(instancePlan(self, addresses, plan));
      return new ServerProcess({ url: self.client, instance, kind: etcdKind, auth: undefined, tls: undefined });
    });
  });
}
