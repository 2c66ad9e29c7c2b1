import { makeScratch } from '../scratch.ts';
import type { ServerProcess } from './process.ts';
import { ServerProcesses } from './processes.ts';
import { StartFailed } from './ready.ts';
import type { OwnServer } from './types.ts';

const ATTEMPTS = 5;

/**
 * A folder for all files of the servers, and the stack that disposes of everything that was created
 * for them.
 */
export interface Premises {
  readonly folder: string;
  readonly resources: AsyncDisposableStack;
}

/**
 * Begins a cluster of the store of this name, with its files below `parent` (default: the system's
 * temporary folder). If anything fails, everything is disposed of.
 */
export async function startCluster(
  name: string,
  begin: (premises: Premises) => Promise<readonly ServerProcess[]>,
  parent?: string,
): Promise<ServerProcesses> {
  await using resources = new AsyncDisposableStack();
  const scratch = await makeScratch(name, parent);
  resources.defer(() => scratch.remove());
  const servers = await begin({ folder: scratch.path, resources });
  return new ServerProcesses(servers, resources.move());
}

/** The only server of a cluster of one. */
export function onlyServer(cluster: ServerProcesses): OwnServer {
  const [server] = cluster.servers;
  if (server === undefined) throw new Error('a cluster without a server');
  const stop = (): Promise<void> => cluster.stop();
  return Object.assign(server, { stop, [Symbol.asyncDispose]: stop });
}

/**
 * Starts the servers of one cluster, which `make` creates with free ports. If another process takes
 * one of the ports meanwhile, all servers start again with other ports.
 */
export async function startServers(
  { resources }: Premises,
  make: () => Promise<readonly ServerProcess[]>,
): Promise<readonly ServerProcess[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const servers = await startAll(await make());
      resources.defer(() => removeAll(servers));
      return servers;
    } catch (error) {
      if (attempt === ATTEMPTS || !(error instanceof StartFailed && error.addressInUse)) throw error;
    }
  }
}

async function startAll(servers: readonly ServerProcess[]): Promise<readonly ServerProcess[]> {
  const starts = servers.map((server) => server.start());
  try {
    await Promise.all(starts);
    return servers;
  } catch (error) {
    await removeAll(servers);
    // Another server may have been starting at that moment.
    await Promise.allSettled(starts);
    await removeAll(servers);
    throw error;
  }
}

async function removeAll(servers: readonly ServerProcess[]): Promise<void> {
  await Promise.all(servers.map((server) => server.remove()));
}
