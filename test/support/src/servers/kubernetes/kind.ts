import type { ServerKind } from '../kind.ts';
import { callApi, type ApiAddress } from './api.ts';
import { serveResources } from './resources.ts';

/** The package of its libraries does not tell the server its version. */
const VERSION = '0.36';

/** One API server: `api` is its address with the administrator's token, `etcd` the one behind it. */
export function kubernetesKind(api: ApiAddress, etcd: string): ServerKind {
  return {
    name: 'kubernetes',
    serves: async () => (await callApi(api, 'GET', '/readyz')).status === 200 && serveResources(api),
    versionOf: async () => VERSION,
    leadershipOf: async () => ({ leads: true, term: 1n }),
    ctl: (run, _, __, args) => run('etcdctl', [`--endpoints=${etcd}`, ...args]),
  };
}
