import { freePort } from '../../ports.ts';
import { quickFolder } from '../../scratch.ts';
import { makeCertificates } from '../certificates.ts';
import { ServerProcess } from '../process.ts';
import { onlyServer, startCluster, startServers, type Premises } from '../start.ts';
import { postgresKind } from './kind.ts';
import { instancePlan, urlOf } from './plan.ts';
import { postgresSource } from './source.ts';
import { templateOf } from './template.ts';
import type { PostgresOptions, PostgresServer } from './types.ts';

/**
 * Starts a PostgreSQL of one server for this process alone. Resolves when it serves requests.
 * Throws `StoreUnavailable` if it is not available.
 */
export async function startPostgres({
  version = 'default',
  ownIdentity = false,
  ...options
}: PostgresOptions = {}): Promise<PostgresServer> {
  const source = await postgresSource(version);
  const isNew = ownIdentity || options.auth !== undefined || source.programs === undefined;
  const template = isNew || source.programs === undefined ? undefined : await templateOf(source.programs);
  const begin = async (premises: Premises): Promise<readonly ServerProcess[]> => {
    const { folder } = premises;
    const certificates = options.tls === undefined ? undefined : await makeCertificates(folder, 'client');
    return startServers(premises, async () => {
      const plan = { ...options, folder, certificates, template, port: await freePort() };
      const instance = source.instance(await instancePlan(plan));
      return [new ServerProcess({ url: urlOf(plan), instance, kind: postgresKind, auth: options.auth, tls: certificates })];
    });
  };
  return onlyServer(await startCluster('postgres', begin, await quickFolder()));
}
