/** Opens the store: connects, and checks the server and the user's permissions. */

import type { Store } from '@incumbent/core';
import { invalidSecret, isRedisClient } from '@incumbent/core/adapter';

import { optionsOfClient, type RedisClientOptions } from './client-option/client-option.ts';
import type { Client } from './client/client.ts';
import { createClient } from './client/create-client.ts';
import { toStoreError, withAclGrant } from './errors.ts';
import { keyspaceOf } from './namespace.ts';
import { readOptions, type RedisOptions, type RedisSettings } from './options.ts';
import { RedisStore } from './store.ts';

/**
 * Opens a Redis or Valkey store by a URL, `redis://user:password@host:6379/namespace` (`rediss://`
 * for TLS), by options, or by the settings of a client that is configured already. Resolves when a
 * server that accepts writes has answered.
 *
 * @throws `StoreError` within `connectTimeoutMs`:
 * - `UNREACHABLE` or `TIMEOUT`: no server has answered.
 * - `UNAVAILABLE`: only replicas answered, or the server is loading or has too many clients.
 * - `UNAUTHENTICATED`: the password or a certificate is wrong.
 * - `PERMISSION_DENIED`: the message names the commands that the user lacks.
 * - `UNSUPPORTED`: the server is not Redis, is older than 7 or evicts keys, or there is no such
 *   database.
 *
 * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION` for an invalid URL or option,
 * and the system's error if a file that the URL names cannot be read.
 */
export async function openRedis(urlOrOptions: string | URL | RedisOptions | RedisClientOptions): Promise<Store> {
  if (isRedisClient(urlOrOptions))
    throw invalidSecret('redis options', urlOrOptions, 'a URL or an object: openRedis({ client })', 'a client of Redis');
  const settings = readOptions(hasClient(urlOrOptions) ? optionsOfClient(urlOrOptions) : urlOrOptions);
  const { client, store } = createStore(settings);
  try {
    await client.call(async () => {}, { timeoutMs: settings.connectTimeoutMs });
    return store;
  } catch (error) {
    client.close();
    throw withAclGrant(toStoreError(error, 'open'), keyspaceOf(settings));
  }
}

function hasClient(options: string | URL | RedisOptions | RedisClientOptions): options is RedisClientOptions {
  return typeof options === 'object' && options !== null && 'client' in options;
}

/** Makes a store that has no connection yet. */
export function createStore(settings: RedisSettings): { readonly client: Client; readonly store: RedisStore } {
  const client = createClient(settings, (reply) => store.onPush(reply));
  const store: RedisStore = new RedisStore({
    client,
    clock: settings.clock,
    keyspace: keyspaceOf(settings),
    access: settings.access,
  });
  return { client, store };
}
