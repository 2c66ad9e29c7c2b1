/** `zookeeper://user:password@host1:2181,host2:2181/namespace?connectTimeoutMs=5000`; `zookeepers://` for TLS. */

import { invalidSecret, showUrl } from '@incumbent/core/adapter';
import { StoreUrl, type StoreUrlShape } from '@incumbent/network';

import type { Credentials, ZookeeperOptions } from './options.ts';

const SHAPE: StoreUrlShape = {
  schemes: ['zookeeper'],
  secureSchemes: ['zookeepers'],
  parameters: ['connectTimeoutMs', 'acl'],
  example: 'zookeeper://host:port,host:port/namespace, or zookeepers:// for TLS',
};

/** Rejects where a file that the parameters `ca`, `cert` and `key` name cannot be read. */
export async function readUrl(text: string): Promise<ZookeeperOptions> {
  const url = new StoreUrl(text, SHAPE);
  const connectTimeoutMs = url.number('connectTimeoutMs');
  const acl = url.oneOf('acl', ['open', 'creator']);
  const credentials = credentialsIn(url, text);
  const tls = url.tls();
  return {
    endpoints: url.hosts,
    ...(url.namespace === '' ? {} : { namespace: url.namespace }),
    ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
    ...(acl === undefined ? {} : { acl }),
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
