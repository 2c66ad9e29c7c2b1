/**
 * A context of a kubeconfig, read by `@kubernetes/client-node`: certificates, tokens, exec plug-ins
 * and OpenID Connect. The package is loaded only when a context is used, because it is large: see
 * decision record 0066.
 */

import type { RequestOptions } from 'node:https';

import type * as client from '@kubernetes/client-node';

import { IncumbentError } from '@incumbent/core';
import { invalidSecret, invalidText } from '@incumbent/core/adapter';
import type { Pem, TlsOptions } from '@incumbent/network';

import { addressOf, type Access } from './access.ts';

type Library = Pick<typeof client, 'KubeConfig'>;

const PACKAGE = '@kubernetes/client-node';

export interface Kubeconfig {
  /** A path. Default: `KUBECONFIG`, or `~/.kube/config`. */
  readonly file: string | undefined;
  /** Default: the file's current context. */
  readonly context: string | undefined;
}

/**
 * @throws `ADAPTER_MISSING` without the package; `INVALID_OPTION` if there is no such context, or
 *   its server needs a proxy or has no TLS.
 */
export async function kubeconfigAccess({ file, context }: Kubeconfig): Promise<Access> {
  const { KubeConfig } = await load();
  let config = new KubeConfig();
  if (file === undefined) config.loadFromDefault();
  else config.loadFromFile(file);
  if (context !== undefined) config.setCurrentContext(context);
  const chosen = config.getContextObject(config.getCurrentContext());
  const cluster = config.getCurrentCluster();
  if (chosen === null || cluster === null) {
    const known = config.getContexts().map(({ name }) => name);
    throw invalidText('context', config.getCurrentContext(), `one of the kubeconfig: ${known.join(', ')}`);
  }
  if (cluster.proxyUrl !== undefined)
    throw invalidSecret('context', cluster.proxyUrl, 'one without a proxy-url: open the connection with the option connect');
  const server = new URL(cluster.server);
  // The library gives no credentials for such a server.
  if (server.protocol === 'http:' && !cluster.skipTLSVerify)
    throw invalidText(
      'context',
      config.getCurrentContext(),
      'one whose server begins with https:; for kubectl proxy pass the option server',
    );
  return {
    ...addressOf(server),
    namespace: chosen.namespace,
    async credentials(isRejected) {
      if (isRejected) config = withoutTokens(config, new KubeConfig());
      const options: RequestOptions = {};
      await config.applyToHTTPSOptions(options);
      return { headers: headersOf(options), tls: server.protocol === 'https:' ? tlsOf(options) : undefined };
    },
  };
}

/**
 * The same configuration, without the answers of exec plug-ins that the library keeps until they
 * expire. What it has got from an OpenID provider is part of the users, and stays.
 */
function withoutTokens(config: client.KubeConfig, fresh: client.KubeConfig): client.KubeConfig {
  const { clusters, contexts, users, currentContext } = config;
  fresh.loadFromOptions({ clusters, contexts, users, currentContext });
  return fresh;
}

async function load(): Promise<Library> {
  try {
    return await import('@kubernetes/client-node');
  } catch (cause) {
    const message = `a context of a kubeconfig needs the package ${PACKAGE}: npm install ${PACKAGE}`;
    throw new IncumbentError('ADAPTER_MISSING', message, { cause, details: { package: PACKAGE } });
  }
}

function headersOf({ headers = {}, auth }: RequestOptions): Readonly<Record<string, string>> {
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)] as const);
  const basic = typeof auth === 'string' ? [['authorization', `Basic ${Buffer.from(auth).toString('base64')}`] as const] : [];
  return Object.fromEntries([...given, ...basic]);
}

function tlsOf({ ca, cert, key, servername, rejectUnauthorized }: RequestOptions): TlsOptions {
  return {
    ...(isPem(ca) ? { ca } : {}),
    ...(isPem(cert) && isPem(key) ? { cert, key } : {}),
    ...(servername === undefined ? {} : { servername }),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
  };
}

function isPem(value: unknown): value is Pem {
  return typeof value === 'string' || value instanceof Uint8Array;
}
