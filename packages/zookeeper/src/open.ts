/** Opens the store: connects, learns what sessions the servers grant, and sees to the node that all keys stand under. */

import type { Store } from '@incumbent/core';
import { CallTime } from '@incumbent/network';

import { clientOptionsOf } from './connect.ts';
import { toStoreError } from './errors.ts';
import { LONGEST_MS } from './leases.ts';
import { Namespace } from './namespace.ts';
import { readOptions, type ZookeeperOptions } from './options.ts';
import { Parents } from './parents.ts';
import { ZookeeperStore } from './store.ts';
import { openClient, type Client } from './client/client.ts';
import { callOver } from './connection/failure.ts';

/** Asked for this, or for the longest, servers grant the shortest and the longest that they do. */
const SHORTEST_MS = 1;

/**
 * Opens a ZooKeeper store: `zookeeper://user:password@host1:2181,host2:2181/namespace`, `zookeepers://…` for TLS, or options. Resolves when a server has
 * opened a session.
 *
 * Rejects within `connectTimeoutMs` with a `StoreError`: `UNREACHABLE`, `TIMEOUT`, `UNAVAILABLE` (no server has a quorum, or all are read-only),
 * `UNAUTHENTICATED` (certificates), `UNSUPPORTED` (no ZooKeeper), `PERMISSION_DENIED` (the namespace may not be made, or not be read). Throws a `TypeError` or
 * `RangeError` with the code `INVALID_OPTION` for options that cannot be used.
 */
export async function openZookeeper(urlOrOptions: string | ZookeeperOptions): Promise<Store> {
  const settings = await readOptions(urlOrOptions);
  const { clock, connectTimeoutMs, namespace } = settings;
  const time = new CallTime(clock, { timeoutMs: connectTimeoutMs }, callOver);
  try {
    const client = await openClient(clientOptionsOf(settings), time.left);
    try {
      const root = new Namespace(`/${namespace}`);
      const [minTtlMs, maxTtlMs] = await Promise.all([granted(client, SHORTEST_MS, time), granted(client, LONGEST_MS, time)]);
      await new Parents(client.shared, settings.acls).make(root.path('x'), time);
      return new ZookeeperStore(client, { ...settings, namespace: root, minTtlMs, maxTtlMs });
    } catch (error) {
      // What takes its time here is nobody's who waits for the store.
      void client.close();
      throw error;
    }
  } catch (error) {
    throw toStoreError(error, 'open');
  }
}

/** What the servers make of it when a session of so many ms is asked for. */
async function granted(client: Client, timeoutMs: number, time: CallTime): Promise<number> {
  const session = await client.openSession({ timeoutMs }, time.left);
  const { timeoutMs: grantedMs } = session;
  await session.close(time.left);
  return grantedMs;
}
