/** The URL of one node, as clients write it: `rediss://user:password@host:6379/0`. */

import { invalidSecret } from '@incumbent/core/adapter';
import { endpointName, omitUndefined } from '@incumbent/network';

import type { Credentials } from '../client/greeting.ts';

export interface NodeAddress {
  readonly endpoint: string;
  readonly credentials: Credentials | undefined;
  readonly isSecure: boolean;
}

/** Throws `INVALID_OPTION`, without the URL, which contains a password. */
export function addressIn(text: string, option: string, defaults: { readonly host: string; readonly port: number }): NodeAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^rediss?:$/.test(url.protocol)) throw invalidSecret(option, text, 'a URL with redis:// or rediss://');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const endpoint = endpointName({ host: host === '' ? defaults.host : host, port: url.port === '' ? defaults.port : Number(url.port) });
  const [username, password] = [decoded(url.username, option), decoded(url.password, option)];
  const credentials =
    username === '' && password === '' ? undefined : { password, ...omitUndefined({ username: username === '' ? undefined : username }) };
  return { endpoint, credentials, isSecure: url.protocol === 'rediss:' };
}

function decoded(text: string, option: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidSecret(option, text, 'a URL whose user and password are percent-encoded');
  }
}
