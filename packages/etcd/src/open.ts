/** Opens the store: connects, logs in, and asks for the version. */

import type { Store } from '@incumbent/core';
import { isIncumbentError } from '@incumbent/core/adapter';

import { clientOf, type Client } from './client/client.ts';
import { readOptions, type EtcdOptions, type EtcdSettings } from './options.ts';
import { EtcdStore } from './store.ts';
import { checkVersion } from './capabilities.ts';
import { status } from './protocol/admin.ts';

/**
 * Opens an etcd store: `etcd://user:password@host1:2379,host2:2379/namespace`, `etcds://…` for TLS, or options. Resolves when a member of the
 * cluster has answered, with the user logged in if there is one.
 *
 * Rejects within `connectTimeoutMs` with a `StoreError`: `UNREACHABLE`, `TIMEOUT`, `UNAVAILABLE` (no member has a leader), `UNAUTHENTICATED`
 * (password or certificate), `UNSUPPORTED` (no etcd, or one before 3.4). Throws a `TypeError` or `RangeError` with the code `INVALID_OPTION`
 * for options that cannot be used. What the user may not do is found at its first use, as `PERMISSION_DENIED`.
 */
export async function openEtcd(urlOrOptions: string | EtcdOptions): Promise<Store> {
  const settings = await readOptions(urlOrOptions);
  const client = clientOf(settings);
  try {
    const version = await askVersion(client, settings);
    checkVersion(version);
    return new EtcdStore(client, settings, version);
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** Asks one member after the other until one serves; each failure sends the next question to another. */
async function askVersion(client: Client, { endpoints, connectTimeoutMs }: EtcdSettings): Promise<string> {
  const endsAt = performance.now() + connectTimeoutMs;
  for (let left = endpoints.length; ; left -= 1) {
    try {
      return await client.call(status, undefined, { timeoutMs: Math.max(endsAt - performance.now(), 1) });
    } catch (error) {
      if (left === 1 || !isIncumbentError(error, 'UNAVAILABLE', 'CONNECTION_LOST')) throw error;
    }
  }
}
