import { freePort } from '../../ports.ts';
import { makeCertificates } from '../certificates.ts';
import { ServerProcess } from '../process.ts';
import { onlyServer, startCluster, startServers } from '../start.ts';
import { redisKind } from './kind.ts';
import { instancePlan, urlOf } from './plan.ts';
import { redisSource } from './source.ts';
import type { RedisOptions, RedisServer } from './types.ts';

/**
 * Starts a Redis for this process alone (or Valkey as the newer version). Resolves when it serves
 * requests. Throws `StoreUnavailable` if it is not available.
 */
export async function startRedis({ version = 'default', ...options }: RedisOptions = {}): Promise<RedisServer> {
  const source = await redisSource(version);
  const cluster = await startCluster('redis', async (premises) => {
    const { folder } = premises;
    const certificates = options.tls === undefined ? undefined : await makeCertificates(folder, 'client');
    return startServers(premises, async () => {
      const plan = { ...options, folder, certificates, port: await freePort() };
      const instance = source.instance(await instancePlan(plan));
      return [new ServerProcess({ url: urlOf(plan), instance, kind: redisKind, auth: options.auth, tls: certificates })];
    });
  });
  return onlyServer(cluster);
}
