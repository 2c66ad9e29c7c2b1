import { readFile } from 'node:fs/promises';

import { freePort, LOOPBACK } from '../../ports.ts';
import { makeCertificates } from '../certificates.ts';
import { ServerProcess } from '../process.ts';
import { onlyServer, startCluster, startServers } from '../start.ts';
import { callApi } from './api.ts';
import { startEtcdServer } from './etcd.ts';
import { kubernetesKind } from './kind.ts';
import { apiServerFlags, writeAccess, writeKubeconfig, writeRights, type AccessFiles } from './plan.ts';
import { kubernetesSource } from './source.ts';
import type { KubernetesOptions, KubernetesServer } from './types.ts';

/**
 * Starts an API server and the etcd behind it for this process alone. Resolves when it serves
 * requests. Throws `StoreUnavailable` if it cannot be built. The first call on a machine builds it.
 */
export async function startKubernetes({ flags = [] }: KubernetesOptions = {}): Promise<KubernetesServer> {
  const source = await kubernetesSource();
  let own: Pick<KubernetesServer, 'kubeconfig' | 'ca' | 'tokens' | 'etcd'> | undefined;
  let access: AccessFiles | undefined;
  const cluster = await startCluster('kubernetes', async (premises) => {
    const { folder } = premises;
    const tls = await makeCertificates(folder, 'admin/O=system:masters');
    const files = await writeAccess(folder);
    const ca = await readFile(tls.ca, 'utf8');
    const [etcd] = await startEtcdServer(premises, source);
    if (etcd === undefined) throw new Error('an etcd without a server');
    const servers = await startServers(premises, async () => {
      const url = `https://${LOOPBACK}:${await freePort()}`;
      const args = [...apiServerFlags(url, etcd.url, files, tls), ...flags];
      const instance = source.instance({ program: 'api-server', name: 'api-server', folder, args });
      const kind = kubernetesKind({ url, ca, token: files.tokens.admin }, etcd.url);
      return [new ServerProcess({ url, instance, kind, auth: undefined, tls })];
    });
    const url = servers[0]?.url ?? '';
    own = { kubeconfig: await writeKubeconfig(folder, url, files, tls), ca, tokens: files.tokens, etcd };
    access = files;
    return servers;
  });
  const server = onlyServer(cluster);
  if (own === undefined || access === undefined) throw new Error('a server without its files');
  const [mine, files] = [own, access];
  return Object.assign(server, mine, {
    grant: (rights: readonly string[]) => writeRights(files, rights),
    call: (method: string, path: string, body?: unknown) =>
      callApi({ url: server.url, ca: mine.ca, token: mine.tokens.admin }, method, path, body),
  });
}
