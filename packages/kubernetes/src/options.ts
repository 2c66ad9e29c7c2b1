/** Reads and checks the options of a store, from a URL or an object. */

import type { Clock } from '@incumbent/core';
import {
  checkClock,
  checkFunction,
  checkKnown,
  checkNumber,
  invalidSecret,
  invalidText,
  isUrl,
  showUrl,
  urlText,
} from '@incumbent/core/adapter';
import { accessOf, checkTls, omitUndefined, type TlsOptions } from '@incumbent/network';

import { givenAccess, podAccess, type Access } from './client/access.ts';
import { connectDirectly, type Connect } from './client/connections.ts';
import { kubeconfigAccess } from './client/kubeconfig.ts';
import { CONFIG_MAPS, type KeysResource, type Names } from './names.ts';

/**
 * The options of a store on a Kubernetes API server. `openKubernetes` checks them, and rejects with
 * `INVALID_OPTION`, also for an unknown option.
 */
export interface KubernetesOptions {
  /**
   * A context of the kubeconfig. With it or with `kubeconfig`, the store needs the package
   * `@kubernetes/client-node`. Default: the kubeconfig's current context if `kubeconfig` is given,
   * otherwise the service account of the pod.
   */
  readonly context?: string | undefined;
  /** The path of the kubeconfig. Default: `KUBECONFIG` of the environment, or `~/.kube/config`. */
  readonly kubeconfig?: string | undefined;
  /**
   * The API server's URL, in place of a context: `https://10.0.0.1:6443`, or
   * `http://127.0.0.1:8001` for `kubectl proxy`.
   */
  readonly server?: string | undefined;
  /** The bearer token for `server`. */
  readonly token?: string | undefined;
  /** Certificates for `server`, which must begin with `https:`. */
  readonly tls?: TlsOptions | undefined;
  /** The namespace of Kubernetes. Default: that of the context or of the pod, or `default`. */
  readonly namespace?: string | undefined;
  /**
   * The name of the object with the keys, and the beginning of the names of the leases: 1 to 40 of
   * `a-z 0-9 -`, and a letter or digit at both ends. Default `incumbent`.
   */
  readonly prefix?: string | undefined;
  /**
   * The resource whose objects hold the keys, if not `ConfigMap`: a custom resource with `data`.
   */
  readonly keysResource?: KeysResource | undefined;
  /**
   * How long the server may keep a watch open, in ms: 1,000 to 600,000, rounded up to seconds. A
   * watch reports a silent server within this time and 1 s. Default 30,000.
   */
  readonly watchMs?: number | undefined;
  /**
   * How long opening the store, or one connection, may take, in ms: 100 to 600,000. Default 5,000.
   */
  readonly connectTimeoutMs?: number | undefined;
  /** Opens the sockets to the API server, instead of TCP or TLS. For tunnels and for tests. */
  readonly connect?: Connect | undefined;
  /** Replaces the system's clock in tests. */
  readonly clock?: Clock | undefined;
}

export interface KubernetesSettings {
  readonly access: Access;
  readonly names: Names;
  readonly watchMs: number;
  readonly connectTimeoutMs: number;
  readonly connect: Connect;
  readonly clock: Clock;
  /** The options as text for another process. Undefined if they contain the caller's functions. */
  readonly shared: string | undefined;
}

const known = [
  'context',
  'kubeconfig',
  'server',
  'token',
  'tls',
  'namespace',
  'prefix',
  'keysResource',
  'watchMs',
  'connectTimeoutMs',
  'connect',
  'clock',
];

const NAME = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
/** The characters that a header can carry. */
const VISIBLE = /^[\x21-\x7e]+$/;

/**
 * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION`, `ADAPTER_MISSING` if a
 * context needs a package that is not installed, or the error of the kubeconfig's reader.
 */
export async function readOptions(input: string | URL | KubernetesOptions): Promise<KubernetesSettings> {
  const options = isUrl(input) ? readUrl(urlText(input)) : input;
  checkKnown('kubernetes', options, known);
  const { connect = connectDirectly, keysResource = CONFIG_MAPS, prefix = 'incumbent' } = options;
  checkFunction('connect', connect);
  if (typeof prefix !== 'string' || prefix.length > 40 || !NAME.test(prefix))
    throw invalidText('prefix', prefix, '1 to 40 of a-z 0-9 -, and a letter or digit at both ends');
  checkResource(keysResource);
  const settings = {
    // The server counts in seconds. A client that gave up by its own count, before the server has
    // to end the watch, would take most watches for silent ones.
    watchMs: Math.ceil(checkNumber('watchMs', options.watchMs, 30_000, { min: 1_000, max: 600_000 }) / 1_000) * 1_000,
    connectTimeoutMs: checkNumber('connectTimeoutMs', options.connectTimeoutMs, 5_000, { min: 100, max: 600_000 }),
    connect,
    clock: checkClock(options.clock),
    shared: accessOf(options),
  };
  const access = await accessBy(options);
  const namespace = options.namespace ?? access.namespace ?? 'default';
  if (typeof namespace !== 'string' || namespace.length > 63 || !NAME.test(namespace))
    throw invalidText('namespace', namespace, '1 to 63 of a-z 0-9 -, and a letter or digit at both ends');
  return { ...settings, access, names: { namespace, prefix, keys: keysResource } };
}

async function accessBy(options: KubernetesOptions): Promise<Access> {
  const { context, kubeconfig, server, token, tls } = options;
  if (server === undefined && (token !== undefined || tls !== undefined))
    throw invalidSecret('server', server, 'given beside token and tls', 'absent');
  for (const [name, value] of Object.entries({ context, kubeconfig }))
    if (value !== undefined && (typeof value !== 'string' || value === '' || server !== undefined))
      throw invalidText(name, value, 'text, and absent beside server');
  if (server !== undefined) return accessTo(serverOf(server), token, tls);
  if (context !== undefined || kubeconfig !== undefined) return kubeconfigAccess({ file: kubeconfig, context });
  const access = await podAccess();
  if (access === undefined)
    throw invalidText('context', '', 'given, because this process is not in a pod (KUBERNETES_SERVICE_HOST is not set)');
  return access;
}

function accessTo(server: URL, token: unknown, tls: TlsOptions | undefined): Access {
  if (server.protocol === 'http:' && tls !== undefined)
    throw invalidSecret('tls', tls, 'absent, because the URL of the server begins with http:');
  return givenAccess(server, checkToken(token), checkedTls(tls));
}

function serverOf(server: unknown): URL {
  const url = typeof server === 'string' && URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username + url.password + url.search + url.hash !== '')
    throw invalidSecret('server', server, 'https://host:port', typeof server === 'string' ? showUrl(server) : undefined);
  return url;
}

function checkToken(token: unknown): string | undefined {
  if (token === undefined || (typeof token === 'string' && VISIBLE.test(token))) return token;
  throw invalidSecret('token', token, 'visible characters, at least one');
}

function checkedTls(tls: TlsOptions | undefined): TlsOptions | undefined {
  if (tls !== undefined) checkTls(tls);
  return tls;
}

function checkResource(resource: KeysResource): void {
  checkKnown('keysResource', resource, ['apiVersion', 'kind', 'plural']);
  const { apiVersion, kind, plural } = resource;
  const parts = { apiVersion: /^(?:[a-z0-9.-]+\/)?v[a-z0-9]+$/, kind: /^[A-Z][A-Za-z0-9]*$/, plural: /^[a-z][a-z0-9]*$/ };
  for (const [name, value] of Object.entries({ apiVersion, kind, plural })) {
    const pattern = Object.entries(parts).find(([field]) => field === name)?.[1];
    if (typeof value !== 'string' || pattern?.test(value) !== true)
      throw invalidText(`keysResource.${name}`, value, 'as in { apiVersion: "example.com/v1", kind: "ConfigMap", plural: "configmaps" }');
  }
}

const PARAMETERS = ['kubeconfig', 'keysResource', 'watchMs', 'connectTimeoutMs'];
const EXAMPLE = 'kubernetes: in a pod, or kubernetes://context/namespace/prefix; in a context, write / as %2F, : as %3A and @ as %40';

/**
 * `kubernetes:` or `kubernetes:///namespace/prefix` in a pod,
 * `kubernetes://context/namespace/prefix` outside, with parameters after `?`.
 */
function readUrl(url: string): KubernetesOptions {
  const shown = showUrl(url);
  const match =
    /^kubernetes:(?:\/\/(?<context>[^/?#@]*)(?:\/(?<namespace>[^/?#]*)(?:\/(?<prefix>[^/?#]*))?)?)?(?:\?(?<query>[^#]*))?$/.exec(url);
  if (match?.groups === undefined) throw invalidSecret('url', url, EXAMPLE, shown);
  const { context = '', namespace = '', prefix = '', query = '' } = match.groups;
  const parameters = new URLSearchParams(query);
  const names = [...parameters.keys()];
  for (const [index, name] of names.entries()) {
    if (!PARAMETERS.includes(name)) throw invalidSecret(`url parameter ${index + 1}`, name, `one of ${PARAMETERS.join(', ')}`);
    if (names.indexOf(name) < index) throw invalidSecret(name, parameters.getAll(name), 'given once');
  }
  return omitUndefined({
    context: decoded('context', context),
    namespace: decoded('namespace', namespace),
    prefix: decoded('prefix', prefix),
    kubeconfig: parameters.get('kubeconfig') ?? undefined,
    keysResource: resourceIn(parameters.get('keysResource')),
    watchMs: numberIn('watchMs', parameters),
    connectTimeoutMs: numberIn('connectTimeoutMs', parameters),
  });
}

function decoded(what: string, encoded: string): string | undefined {
  if (encoded === '') return undefined;
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw invalidSecret(what, encoded, `percent-encoded: ${EXAMPLE}`);
  }
}

function numberIn(name: string, parameters: URLSearchParams): number | undefined {
  const text = parameters.get(name);
  if (text === null) return undefined;
  if (!/^\d+$/.test(text)) throw invalidSecret(name, text, 'a number');
  return Number(text);
}

/** `example.com/v1/configmaps/ConfigMap`. */
function resourceIn(text: string | null): KeysResource | undefined {
  if (text === null) return undefined;
  const [, apiVersion, plural, kind] = /^(.+)\/([^/]+)\/([^/]+)$/.exec(text) ?? [];
  if (apiVersion === undefined || plural === undefined || kind === undefined)
    throw invalidText('keysResource', text, 'like example.com/v1/configmaps/ConfigMap');
  return { apiVersion, kind, plural };
}
