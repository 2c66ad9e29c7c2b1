import type { ServerKind } from '../kind.ts';
import { callApi, type ApiAddress } from './api.ts';
import { serveResources } from './resources.ts';

/**
 * One API server: `api` is its address with the administrator's token, `etcd` the one behind it.
 */
export function kubernetesKind(api: ApiAddress, etcd: string): ServerKind {
  return {
    name: 'kubernetes',
    serves: async () => (await callApi(api, 'GET', '/readyz')).status === 200 && serveResources(api),
    versionOf: () => versionOf(api),
    leadershipOf: async () => ({ leads: true, term: 1n }),
    ctl: (run, _, __, args) => run('etcdctl', [`--endpoints=${etcd}`, ...args]),
  };
}

/** `1.36`. The packages do not tell the server the rest. */
async function versionOf(api: ApiAddress): Promise<string> {
  const { body } = await callApi(api, 'GET', '/version');
  const { major, minor } = Object(body);
  return `${major}.${minor}`;
}
