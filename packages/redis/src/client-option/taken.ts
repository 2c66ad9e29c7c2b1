/** What the readers of all clients share. */

import { isDeepStrictEqual } from 'node:util';

import { invalidSecret } from '@incumbent/core/adapter';
import type { TlsOptions } from '@incumbent/network';

import type { Credentials } from '../client/greeting.ts';

/** What the caller gives besides the client, in place of the client's own settings. */
export interface Overrides {
  readonly credentials: Credentials | undefined;
  readonly tls: TlsOptions | undefined;
}

export const NO_TRANSLATION =
  'the store does not translate addresses: give openRedis endpoints or sentinel, and connect, in place of client';

/**
 * The login of all nodes of a cluster. The store has one login, because any node may be named next.
 */
export function agreedOn(logins: readonly (Credentials | undefined)[]): Credentials | undefined {
  const [first, ...rest] = logins;
  if (rest.every((login) => isDeepStrictEqual(login, first))) return first;
  throw invalidSecret('client', logins, 'one whose nodes have the same login', 'a client of a cluster whose nodes differ in their logins');
}
