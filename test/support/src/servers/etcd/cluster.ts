import { makeScratch } from '../../scratch.ts';
import { makeCertificates } from '../certificates.ts';
import { enableAuth } from './auth.ts';
import { EtcdProcesses } from './processes.ts';
import { etcdSource } from './source.ts';
import { startProcesses } from './start.ts';
import type { EtcdCluster, EtcdOptions, EtcdServer } from './types.ts';

export interface EtcdClusterOptions extends EtcdOptions {
  /** 3 by default. */
  readonly size?: number;
}

/** Starts an etcd of one server, of one's own, and resolves when it serves. Throws `StoreUnavailable` where none can be had. */
export async function startEtcd(options: EtcdOptions = {}): Promise<EtcdServer> {
  const cluster = await start({ ...options, size: 1 });
  const [server] = cluster.servers;
  if (server === undefined) throw new Error('a cluster without a server');
  const stop = (): Promise<void> => cluster.stop();
  return Object.assign(server, { stop, [Symbol.asyncDispose]: stop });
}

/** Starts an etcd of several servers, of one's own, and resolves when all serve. Throws `StoreUnavailable` where none can be had. */
export function startEtcdCluster(options: EtcdClusterOptions = {}): Promise<EtcdCluster> {
  return start(options);
}

async function start({ size = 3, version = 'default', ...options }: EtcdClusterOptions): Promise<EtcdProcesses> {
  const source = await etcdSource(version);
  const scratch = await makeScratch('etcd');
  let cluster: EtcdProcesses | undefined;
  try {
    const certificates = options.tls === undefined ? undefined : await makeCertificates(scratch.path, options.auth?.user ?? 'client');
    const servers = await startProcesses(source, size, { ...options, folder: scratch.path, certificates });
    cluster = new EtcdProcesses(servers, scratch);
    if (options.auth !== undefined) await enableAuth(cluster, options.auth);
    return cluster;
  } catch (error) {
    await (cluster?.stop() ?? scratch.remove());
    throw error;
  }
}
