import { StartFailed } from '../ready.ts';
import { instancePlan, pickAddresses, type ClusterPlan } from './plan.ts';
import { EtcdProcess } from './process.ts';
import type { EtcdSource } from './source.ts';

const ATTEMPTS = 5;

/** Starts the servers of one cluster. Where another process took one of their ports in between, all begin anew with others. */
export async function startProcesses(source: EtcdSource, size: number, plan: ClusterPlan): Promise<readonly EtcdProcess[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await tryPorts(source, size, plan);
    } catch (error) {
      if (attempt === ATTEMPTS || !(error instanceof StartFailed && error.addressInUse)) throw error;
    }
  }
}

async function tryPorts(source: EtcdSource, size: number, plan: ClusterPlan): Promise<readonly EtcdProcess[]> {
  const addresses = await pickAddresses(size, plan);
  const servers = addresses.map((self) => new EtcdProcess(self.client, source.instance(instancePlan(self, addresses, plan)), plan));
  const starts = servers.map((server) => server.start());
  try {
    await Promise.all(starts);
    return servers;
  } catch (error) {
    await removeAll(servers);
    // One may have been about to start just then.
    await Promise.allSettled(starts);
    await removeAll(servers);
    throw error;
  }
}

export async function removeAll(servers: readonly EtcdProcess[]): Promise<void> {
  await Promise.all(servers.map((server) => server.remove()));
}
