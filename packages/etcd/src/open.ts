/** Opens the store: connects, logs in and reads the version. */

import type { Store } from '@incumbent/core';

import { checkVersion } from './capabilities.ts';
import { clientOf } from './client/client.ts';
import { readOptions, type EtcdOptions } from './options.ts';
import { status } from './protocol/admin.ts';
import { EtcdStore } from './store.ts';

/**
 * Opens an etcd store, by options or by a URL:
 * `etcd://user:password@host:2379,host:2379/namespace`, or `etcds://…` for TLS. Resolves when a
 * member of the cluster has answered and the user, if there is one, is logged in. Does not check
 * the user's permissions: a call that is not permitted rejects with `PERMISSION_DENIED`.
 *
 * @throws `StoreError`, within `connectTimeoutMs`, with the code `UNREACHABLE`, `TIMEOUT`,
 * `CONNECTION_LOST`, `UNAVAILABLE` (no member knows a leader of the cluster), `UNAUTHENTICATED`
 * (password or certificate) or `UNSUPPORTED` (the server is not etcd, or is older than 3.4).
 * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION` for invalid options.
 */
export async function openEtcd(urlOrOptions: string | URL | EtcdOptions): Promise<Store> {
  const settings = readOptions(urlOrOptions);
  const client = clientOf(settings);
  try {
    const version = await client.call(status, undefined, { timeoutMs: settings.connectTimeoutMs });
    checkVersion(version);
    return new EtcdStore(client, settings, version);
  } catch (error) {
    // The caller does not wait for the connections to close, which may take a second.
    void client.close();
    throw error;
  }
}
