/** Opens the store: connects, and checks what the server is and what this user may do. */

import type { Store } from '@incumbent/core';

import { clientOf, namesOf } from './client/connect.ts';
import { toStoreError } from './errors.ts';
import { readOptions, type RedisOptions } from './options.ts';
import { RedisStore } from './store.ts';
import type { Reply } from './protocol/resp.ts';

/**
 * Opens a Redis or Valkey store: `redis://user:password@host:6379/namespace`, `rediss://…` for TLS, or options. Resolves when a server that takes writes
 * has answered.
 *
 * Rejects within `connectTimeoutMs` with a `StoreError`: `UNREACHABLE`, `TIMEOUT`, `UNAVAILABLE` (replicas only, loading, too many clients), `UNAUTHENTICATED`
 * (password or certificate), `PERMISSION_DENIED` (the message names the commands), `UNSUPPORTED` (no Redis, one before 7, one that evicts keys, no
 * such database). Throws a `TypeError` or `RangeError` with the code `INVALID_OPTION` for options that cannot be used.
 */
export async function openRedis(urlOrOptions: string | RedisOptions): Promise<Store> {
  const settings = await readOptions(urlOrOptions);
  let hear: (reply: Reply) => void = () => {};
  const client = clientOf(settings, (reply) => hear(reply));
  try {
    await client.call(async () => {}, { timeoutMs: settings.connectTimeoutMs });
    return new RedisStore(client, { ...namesOf(settings), clock: settings.clock, access: settings.access }, (listener) => {
      hear = listener;
    });
  } catch (error) {
    client.close();
    throw toStoreError(error, 'open');
  }
}
