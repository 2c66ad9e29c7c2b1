/** A Kubernetes API server for checks, and an operator's access to the keys of a store on it. */

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { KEYS_GROUP, startKubernetes, type KubernetesServer } from '@incumbent/test-support';
import type { Host } from './hosts.ts';

const CONFIG_MAPS = `/apis/${KEYS_GROUP}/v1/namespaces/default/configmaps`;
/** `configmaps` of a group of the tests, because the API server has no types of its own. */
const KEYS_RESOURCE = `${KEYS_GROUP}/v1/configmaps/ConfigMap`;

/** The server that was started last. A process of checks has one at a time. */
let current: KubernetesServer | undefined;

export async function startKubernetesHost(): Promise<KubernetesServer> {
  current = await startKubernetes();
  return current;
}

function currentServer(): KubernetesServer {
  assert.ok(current !== undefined, 'an API server was started');
  return current;
}

/** The URL of a store whose requests go to this address of the server, which may be a proxy. */
export function kubernetesUrl(address: string, prefix: string): string {
  const { kubeconfig, url } = currentServer();
  const file = join(dirname(kubeconfig), `kubeconfig-${new URL(address).port}`);
  const { host } = new URL(address);
  // In one step, because a program that was given the file before may be reading it.
  writeFileSync(`${file}.new`, readFileSync(kubeconfig, 'utf8').replaceAll(url, `https://${host}`));
  renameSync(`${file}.new`, file);
  const parameters = new URLSearchParams({ kubeconfig: file, keysResource: KEYS_RESOURCE });
  return `kubernetes://admin/default/${prefix}?${parameters.toString()}`;
}

/** The environment of a pod, and a folder with the files of its service account. */
export function writeAccount({ url, kubeconfig, tokens, ca }: KubernetesServer): {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
} {
  const folder = join(dirname(kubeconfig), 'serviceaccount');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'token'), tokens.admin);
  writeFileSync(join(folder, 'ca.crt'), ca);
  writeFileSync(join(folder, 'namespace'), 'default');
  const { hostname, port } = new URL(url);
  return { folder, env: { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port } };
}

/** The object of a store, and the name in its `data` of `<prefix>/<key>`. */
function placeOf(path: string): { readonly object: string; readonly name: string } {
  const [prefix = '', ...rest] = path.split('/');
  const name = rest.join('/').replaceAll('_', '_u').replaceAll('~', '_t').replaceAll('/', '__');
  return { object: `${CONFIG_MAPS}/${prefix}`, name };
}

interface ConfigMap {
  readonly data: Readonly<Record<string, string>>;
}

function isConfigMap(body: unknown): body is ConfigMap {
  return typeof body === 'object' && body !== null && 'data' in body && typeof body.data === 'object' && body.data !== null;
}

async function read(object: string): Promise<ConfigMap | undefined> {
  const { body } = await currentServer().call('GET', object);
  return isConfigMap(body) ? body : undefined;
}

interface KubernetesHost extends Host {
  /** The server also has the faults of its etcd. */
  start(): Promise<KubernetesServer>;
}

export const kubernetesHost: KubernetesHost = {
  store: 'kubernetes',
  prefix: 'kubernetes-',
  deletes: 'an edit of the ConfigMap that leaves out the line',
  start: startKubernetesHost,
  hasKey: async (_server, prefix) => {
    const { object, name } = placeOf(prefix);
    return Object.keys((await read(object))?.data ?? {}).some((each) => each.startsWith(name));
  },
  deleteKey: async (_server, key) => {
    const { object, name } = placeOf(key);
    for (;;) {
      const map = await read(object);
      assert.ok(map !== undefined && name in map.data, 'the key is there');
      const { [name]: _, ...data } = map.data;
      const { status } = await currentServer().call('PUT', object, { ...map, data });
      if (status === 200) return;
      assert.equal(status, 409, 'somebody else has changed the object');
    }
  },
};
