/** Opens a store. */

import type { Store } from '@incumbent/core';
import { CallTime, withGrant } from '@incumbent/network';

import { Client } from './client/client.ts';
import { ExchangeError } from './client/failure.ts';
import { deniedRight, openingFailed, toStoreError } from './errors.ts';
import { KeyObject } from './keys/key-object.ts';
import { readOptions, type KubernetesOptions } from './options.ts';
import { KubernetesStore } from './store.ts';

/**
 * Opens a store on a Kubernetes API server: `kubernetes:` in a pod,
 * `kubernetes://context/namespace/prefix` outside, or options. Resolves when the server has
 * answered a linearizable read.
 *
 * @throws `StoreError` within `connectTimeoutMs`, with one of the codes `UNREACHABLE`, `TIMEOUT`,
 * `UNAVAILABLE` (the server is starting or overloaded, or cannot reach etcd), `UNAUTHENTICATED`,
 * `PERMISSION_DENIED` (the user may not read the object with the keys) and `UNSUPPORTED` (the
 * server is no Kubernetes API server).
 * @throws `IncumbentError` with the code `ADAPTER_MISSING` if a context is given and the package
 * `@kubernetes/client-node` is not installed.
 * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION` for an invalid URL or option.
 */
export async function openKubernetes(urlOrOptions: string | URL | KubernetesOptions): Promise<Store> {
  const settings = await readOptions(urlOrOptions);
  const client = new Client(settings);
  const time = new CallTime(settings.clock, { timeoutMs: settings.connectTimeoutMs }, ExchangeError);
  try {
    const keys = new KeyObject(client, settings.clock, settings.names);
    await firstRead(keys, time);
    return new KubernetesStore(client, keys, settings);
  } catch (error) {
    // The caller does not wait for the connections to close.
    void client.close();
    throw error;
  }
}

async function firstRead(keys: KeyObject, time: CallTime): Promise<void> {
  try {
    await keys.read(time.left);
  } catch (error) {
    throw withGrant(toStoreError(openingFailed(error), 'open'), () => deniedRight(error));
  }
}
