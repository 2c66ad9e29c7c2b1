/** `consul://:token@host:8500/namespace?dc=dc1&session=check`; `consuls://` for TLS. */

import { invalidSecret, showUrl } from '@incumbent/core/adapter';
import { StoreUrl, type StoreUrlShape } from '@incumbent/network';

import type { ConsulOptions } from './options.ts';

const NUMBERS = ['lockDelayMs', 'minSessionTtlMs', 'connectTimeoutMs', 'watchWaitMs', 'maxBlockingQueries'] as const;

const SHAPE: StoreUrlShape = {
  schemes: ['consul'],
  secureSchemes: ['consuls'],
  parameters: ['dc', 'ns', 'session', ...NUMBERS],
  example: 'consul://:token@host:port/namespace, or consuls:// for TLS',
};

/** Rejects where a file that the parameters `ca`, `cert` and `key` name cannot be read. */
export async function readUrl(text: string): Promise<ConsulOptions> {
  const url = new StoreUrl(text, SHAPE);
  const [datacenter, consulNamespace, session] = [url.text('dc'), url.text('ns'), url.oneOf('session', ['auto', 'check', 'ttl'])];
  const token = tokenIn(url, text);
  const tls = url.tls();
  return {
    endpoint: url.hosts.join(','),
    ...(url.namespace === '' ? {} : { namespace: url.namespace }),
    ...(token === undefined ? {} : { token }),
    ...(datacenter === undefined ? {} : { datacenter }),
    ...(consulNamespace === undefined ? {} : { consulNamespace }),
    ...(session === undefined ? {} : { session }),
    ...numbersIn(url),
    ...(tls === undefined ? {} : { tls }),
  };
}

/** Where a password stands in other URLs: Consul has no users. */
function tokenIn({ user }: StoreUrl, text: string): string | undefined {
  if (user === undefined) return undefined;
  if (user.name !== '') throw invalidSecret('url', text, 'given a token as :token@, with a colon before it', showUrl(text));
  return user.password;
}

function numbersIn(url: StoreUrl): Partial<ConsulOptions> {
  const given = NUMBERS.map((name) => [name, url.number(name)] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}
