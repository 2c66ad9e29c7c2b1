/**
 * `redis://user:password@host1:6379,host2:6379/namespace?db=0&connectTimeoutMs=5000`; `rediss://` for TLS; `valkey://` and `valkeys://` say the same.
 */

import { invalidSecret, showUrl } from '@incumbent/core/adapter';
import { StoreUrl, type StoreUrlShape } from '@incumbent/network';

import type { RedisOptions } from './options.ts';
import type { Credentials } from './wire/greeting.ts';

const SHAPE: StoreUrlShape = {
  schemes: ['redis', 'valkey'],
  secureSchemes: ['rediss', 'valkeys'],
  parameters: ['connectTimeoutMs', 'db'],
  example: 'redis://host:port/namespace, or rediss:// for TLS',
};

/** Rejects where a file that the parameters `ca`, `cert` and `key` name cannot be read. */
export async function readUrl(text: string): Promise<RedisOptions> {
  const url = new StoreUrl(text, SHAPE);
  const connectTimeoutMs = url.number('connectTimeoutMs');
  const db = url.number('db');
  const credentials = credentialsIn(url, text);
  const tls = url.tls();
  return {
    endpoints: url.hosts,
    ...(url.namespace === '' ? {} : { namespace: url.namespace }),
    ...(db === undefined ? {} : { db }),
    ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
    ...(credentials === undefined ? {} : { credentials }),
    ...(tls === undefined ? {} : { tls }),
  };
}

/** `user:password`, or `:password` for servers that merely have one. */
function credentialsIn({ user }: StoreUrl, text: string): Credentials | undefined {
  if (user === undefined) return undefined;
  const { name, password } = user;
  if (password === undefined)
    throw invalidSecret('url', text, 'given a user as user:password, or a password alone as :password', showUrl(text));
  return name === '' ? { password } : { username: name, password };
}
