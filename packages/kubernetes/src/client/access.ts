/** Where the API server is, and as whom to call it. */

import { readFile } from 'node:fs/promises';

import { type Endpoint, parseEndpoint, type TlsOptions } from '@incumbent/network';

/** What one connection and one request need. Read again and again, because it changes. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined for a server without TLS, such as `kubectl proxy`. */
  readonly tls: TlsOptions | undefined;
}

/** An API server, and the credentials for it. */
export interface Access {
  readonly endpoint: Endpoint;
  /** In front of every path, for servers behind a gateway. Without a slash at its end. */
  readonly basePath: string;
  /** The namespace that the configuration names, if it names one. */
  readonly namespace: string | undefined;
  /** `isRejected`: the server has rejected those of the last call. */
  credentials(isRejected: boolean): Promise<Credentials>;
}

/** The folder that Kubernetes mounts into each pod. */
const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * The service account of the pod. Its token is a file that Kubernetes replaces every hour or so.
 */
export async function podAccess(env: NodeJS.ProcessEnv = process.env, folder: string = ACCOUNT): Promise<Access | undefined> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env;
  if (host === undefined || host === '') return undefined;
  const namespace = await readFile(`${folder}/namespace`, 'utf8').catch(() => '');
  return {
    endpoint: parseEndpoint(host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`, 443),
    basePath: '',
    namespace: namespace.trim() === '' ? undefined : namespace.trim(),
    async credentials() {
      const token = (await readFile(`${folder}/token`, 'utf8')).trim();
      return { headers: { authorization: `Bearer ${token}` }, tls: { ca: { file: `${folder}/ca.crt` } } };
    },
  };
}

/** The server of an option, with a token or a client certificate. */
export function givenAccess(server: URL, token: string | undefined, tls: TlsOptions | undefined): Access {
  const isSecure = server.protocol === 'https:';
  const headers: Readonly<Record<string, string>> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return {
    ...addressOf(server),
    namespace: undefined,
    credentials: async () => ({ headers, tls: isSecure ? (tls ?? {}) : undefined }),
  };
}

/** The endpoint and the path of a server's URL. */
export function addressOf(server: URL): Pick<Access, 'endpoint' | 'basePath'> {
  const isSecure = server.protocol === 'https:';
  return {
    endpoint: parseEndpoint(server.host, isSecure ? 443 : 80),
    basePath: server.pathname.replace(/\/+$/, ''),
  };
}
