/** Opens a store. */

import { randomUUID } from 'node:crypto';

import type { Store } from '@incumbent/core';
import { isIncumbentError } from '@incumbent/core/adapter';
import { CallTime, isLoopback, type MissingPermission, namingGrant } from '@incumbent/network';

import { Client } from './client/client.ts';
import { ExchangeError } from './client/failure.ts';
import { mayBeApplied, missingForServices, missingOnKeys, openingFailed, toStoreError } from './errors.ts';
import { type Binding, MIN_CHECK_TTL_MS } from './leases.ts';
import { Namespace } from './namespace.ts';
import { readOptions, type ConsulOptions, type ConsulSettings } from './options.ts';
import { readKeys } from './protocol/kv.ts';
import { deregisterService, registerService, serviceIdOf } from './protocol/service.ts';
import { ServiceCleaner } from './service-cleaner.ts';
import { ConsulStore } from './store.ts';

/**
 * Opens a Consul store: `consul://:token@host:8500/namespace`, `consuls://…` for TLS, or options.
 * Resolves when the leader of the servers has answered a read through the agent.
 *
 * @throws `StoreError` within `connectTimeoutMs`, with one of the codes `UNREACHABLE`, `TIMEOUT`,
 * `CONNECTION_LOST` (while the store tried to register a service), `UNAVAILABLE` (the servers have
 * no leader, or the agent has no servers), `UNAUTHENTICATED` (token or certificate),
 * `PERMISSION_DENIED` (the token may not read the namespace; or may not register a service, and
 * `session` is `check`), `UNSUPPORTED` (the server is not Consul) and `STORE_FAILED` (the answer
 * comes from a proxy).
 * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION` for an invalid URL or option.
 */
export async function openConsul(urlOrOptions: string | URL | ConsulOptions): Promise<Store> {
  const settings = readOptions(urlOrOptions);
  const client = new Client(settings);
  const cleaner = new ServiceCleaner(client, settings.clock);
  const time = new CallTime(settings.clock, { timeoutMs: settings.connectTimeoutMs }, ExchangeError);
  try {
    const namespace = new Namespace(settings.namespace);
    const missing = (): MissingPermission => missingOnKeys('key:read', [namespace.root], namespace);
    await namingGrant(openPart(findConsul(client, namespace, time)), missing);
    return new ConsulStore(client, settings, await bindingOf(client, cleaner, settings, time));
  } catch (error) {
    // The caller does not wait for the removal of the service and for the connections to close.
    void cleaner.close().then(() => client.close());
    throw toStoreError(error, 'open');
  }
}

/** Settles as a part of the opening does, but rejects with a `StoreError`. */
async function openPart<T>(part: Promise<T>): Promise<T> {
  try {
    return await part;
  } catch (error) {
    throw toStoreError(error, 'open');
  }
}

/**
 * Reads any key. The form of the response shows that the server is Consul; its success, that there
 * is a leader and the permission.
 */
async function findConsul(client: Client, namespace: Namespace, time: CallTime): Promise<void> {
  try {
    await readKeys(client, namespace.key('members'), time.left);
  } catch (error) {
    throw openingFailed(error);
  }
}

async function bindingOf(client: Client, cleaner: ServiceCleaner, { session, endpoint }: ConsulSettings, time: CallTime): Promise<Binding> {
  if (session === 'ttl' || (session === 'auto' && !isLoopback(endpoint))) return { bound: 'ttl' };
  try {
    await namingGrant(openPart(tryService(client, cleaner, time)), () => missingForServices);
    return { bound: 'check' };
  } catch (error) {
    if (session === 'auto' && isIncumbentError(error, 'PERMISSION_DENIED', 'UNSUPPORTED')) return { bound: 'ttl', refusal: error.message };
    throw error;
  }
}

/**
 * Registers a service with a check, and removes it. If that fails and the agent may have the
 * service, the cleaner tries to remove it.
 */
async function tryService(client: Client, cleaner: ServiceCleaner, time: CallTime): Promise<void> {
  const id = serviceIdOf(randomUUID());
  try {
    await registerService(client, { id, name: 'incumbent', ttlMs: MIN_CHECK_TTL_MS }, time.left);
  } catch (error) {
    if (mayBeApplied(error)) cleaner.schedule(id);
    throw error;
  }
  try {
    await deregisterService(client, id, time.left);
  } catch (error) {
    // Whatever the reason of the failure is, the agent still has the service.
    cleaner.schedule(id);
    throw error;
  }
}
