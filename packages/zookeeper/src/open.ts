/** Opens a store: connects, learns which sessions the servers grant, and creates the namespace. */

import type { Store } from '@incumbent/core';
import { CallTime, withGrant } from '@incumbent/network';

import { ParentNodes } from './client/calls.ts';
import { CLOSE_TIMEOUT_MS, openClient, type Client } from './client/client.ts';
import { ExchangeError, missingToCreate, toStoreError, unlessAbsent } from './errors.ts';
import { LONGEST_MS } from './leases.ts';
import { Namespace } from './namespace.ts';
import { clientOptionsOf, readOptions, type ZookeeperOptions, type ZookeeperSettings } from './options.ts';
import { exists } from './protocol/nodes.ts';
import { ZookeeperStore } from './store.ts';

/** Servers answer a request for so short a session with the shortest that they grant. */
const SHORTEST_MS = 1;

/**
 * Opens a ZooKeeper store from options or a URL:
 * `zookeeper://user:password@host1:2181,host2:2181/namespace`, or `zookeepers://…` for TLS.
 * Resolves when a server has opened a session and the namespace exists.
 *
 * @throws `StoreError` within `connectTimeoutMs`, with one of the codes `UNREACHABLE`, `TIMEOUT`,
 * `CONNECTION_LOST`, `UNAVAILABLE` (no server has a quorum, or all are read-only),
 * `UNAUTHENTICATED` (certificates), `UNSUPPORTED` (the server is not ZooKeeper) and
 * `PERMISSION_DENIED` (the namespace may not be created or read).
 * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION` for an invalid URL or option.
 */
export async function openZookeeper(urlOrOptions: string | URL | ZookeeperOptions): Promise<Store> {
  const settings = readOptions(urlOrOptions);
  const { clock, connectTimeoutMs, namespace } = settings;
  const time = new CallTime(clock, { timeoutMs: connectTimeoutMs }, ExchangeError);
  try {
    const client = await openClient(clientOptionsOf(settings), time.left);
    try {
      const root = new Namespace(`/${namespace}`);
      const [minTtlMs, maxTtlMs] = await Promise.all([grantedMs(client, SHORTEST_MS, time), grantedMs(client, LONGEST_MS, time)]);
      await createRoot(client, settings, root, time);
      return new ZookeeperStore(client, { ...settings, namespace: root, minTtlMs, maxTtlMs });
    } catch (error) {
      // Not awaited: the caller waits for the error, and not for the end of the sessions.
      void client.close();
      throw error;
    }
  } catch (error) {
    throw toStoreError(error, 'open');
  }
}

/**
 * Creates the namespace unless it exists. ZooKeeper checks the right to create a node before it
 * says that the node exists, so a user without that right must not try.
 */
async function createRoot({ shared }: Client, { acls, auths }: ZookeeperSettings, { root }: Namespace, time: CallTime): Promise<void> {
  try {
    const found = await unlessAbsent(shared.request(exists, { path: root }, time.left));
    if (found === undefined) await new ParentNodes(shared, acls).create([`${root}/key`], time);
  } catch (error) {
    throw withGrant(toStoreError(error, 'open'), () => missingToCreate({ root, auths }));
  }
}

/**
 * The timeout that the servers grant to a session that asks for `timeoutMs`. If the session cannot
 * be closed, it is left to that timeout: nothing depends on it.
 */
async function grantedMs(client: Client, timeoutMs: number, time: CallTime): Promise<number> {
  const session = await client.openSession({ timeoutMs }, time.left);
  const granted = session.timeoutMs;
  await session.close({ timeoutMs: Math.min(time.left.timeoutMs, CLOSE_TIMEOUT_MS) }).catch(() => session.abandon());
  return granted;
}
