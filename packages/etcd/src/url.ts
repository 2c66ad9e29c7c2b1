/** `etcd://user:password@host1:2379,host2:2379/namespace?connectTimeoutMs=5000`; `etcds://` for TLS. */

import { invalidSecret, showUrl } from '@incumbent/core/adapter';
import { StoreUrl, type StoreUrlShape } from '@incumbent/network';

import type { EtcdOptions, KeepaliveOptions } from './options.ts';
import type { Credentials } from './wire/admin.ts';

const SHAPE: StoreUrlShape = {
  schemes: ['etcd'],
  secureSchemes: ['etcds'],
  parameters: ['connectTimeoutMs', 'keepaliveIntervalMs', 'keepaliveTimeoutMs'],
  example: 'etcd://host:port,host:port/namespace, or etcds:// for TLS',
};

/** Rejects where a file that the parameters `ca`, `cert` and `key` name cannot be read. */
export async function readUrl(text: string): Promise<EtcdOptions> {
  const url = new StoreUrl(text, SHAPE);
  const connectTimeoutMs = url.number('connectTimeoutMs');
  const credentials = credentialsIn(url, text);
  const tls = url.tls();
  return {
    endpoints: url.hosts,
    keepalive: keepaliveIn(url),
    ...(url.namespace === '' ? {} : { namespace: url.namespace }),
    ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
    ...(credentials === undefined ? {} : { credentials }),
    ...(tls === undefined ? {} : { tls }),
  };
}

function credentialsIn({ user }: StoreUrl, text: string): Credentials | undefined {
  if (user === undefined) return undefined;
  const { name, password } = user;
  if (name === '' || password === undefined) throw invalidSecret('url', text, 'given a user as user:password', showUrl(text));
  return { username: name, password };
}

function keepaliveIn(url: StoreUrl): KeepaliveOptions {
  const intervalMs = url.number('keepaliveIntervalMs');
  const timeoutMs = url.number('keepaliveTimeoutMs');
  return { ...(intervalMs === undefined ? {} : { intervalMs }), ...(timeoutMs === undefined ? {} : { timeoutMs }) };
}
