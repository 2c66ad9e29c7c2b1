/** Opens a store. */

import { randomUUID } from 'node:crypto';

import type { Store } from '@incumbent/core';
import { isIncumbentError } from '@incumbent/core/adapter';
import { CallTime, isLoopback, type MissingPermission, namingGrant } from '@incumbent/network';

import { CheckCleaner } from './check-cleaner.ts';
import { Client } from './client/client.ts';
import { ExchangeError } from './client/failure.ts';
import { mayBeApplied, missingForChecks, missingOnKeys, openingFailed, toStoreError } from './errors.ts';
import { MIN_CHECK_TTL_MS } from './leases.ts';
import { Namespace } from './namespace.ts';
import { readOptions, type ConsulOptions, type ConsulSettings } from './options.ts';
import { checkIdOf, deregisterCheck, findOrphans, registerCheck } from './protocol/check.ts';
import { readKeys } from './protocol/kv.ts';
import { ConsulStore } from './store.ts';

/** How long an opening waits for the list of the checks that dead processes have left. */
const FIND_ORPHANS_MS = 2_000;
/** How many of these checks an opening removes, and how long it waits for that. */
const MAX_ORPHANS = 50;
const ORPHANS_MS = 500;

/**
 * Opens a Consul store: `consul://:token@host:8500/namespace`, `consuls://…` for TLS, or options.
 * Resolves when the leader of the servers has answered a read through the agent.
 *
 * @throws `StoreError` within `connectTimeoutMs`, with one of the codes `UNREACHABLE`, `TIMEOUT`,
 * `CONNECTION_LOST` (while the store tried to register a check), `UNAVAILABLE` (the servers have no
 * leader, or the agent has no servers), `UNAUTHENTICATED` (token or certificate),
 * `PERMISSION_DENIED` (the token may not read the namespace; or may not register a check, and
 * `session` is `check`), `UNSUPPORTED` (the server is not Consul) and `STORE_FAILED` (the answer
 * comes from a proxy).
 * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION` for an invalid URL or option.
 */
export async function openConsul(urlOrOptions: string | URL | ConsulOptions): Promise<Store> {
  const settings = readOptions(urlOrOptions);
  const client = new Client(settings);
  const cleaner = new CheckCleaner(client, settings.clock);
  const time = new CallTime(settings.clock, { timeoutMs: settings.connectTimeoutMs }, ExchangeError);
  try {
    const namespace = new Namespace(settings.namespace);
    const missing = (): MissingPermission => missingOnKeys('key:read', [namespace.root], namespace);
    await namingGrant(openPart(findConsul(client, namespace, time)), missing);
    const bound = await namingGrant(openPart(bindingOf(client, cleaner, settings, time)), () => missingForChecks);
    if (bound === 'check') await removeOrphans(client, time);
    return new ConsulStore(client, settings, bound);
  } catch (error) {
    // The caller does not wait for the removal of the check and for the connections to close.
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

async function bindingOf(
  client: Client,
  cleaner: CheckCleaner,
  { session, endpoint }: ConsulSettings,
  time: CallTime,
): Promise<'check' | 'ttl'> {
  if (session === 'ttl' || (session === 'auto' && !isLoopback(endpoint))) return 'ttl';
  try {
    await tryCheck(client, cleaner, time);
    return 'check';
  } catch (error) {
    if (session === 'auto' && isIncumbentError(toStoreError(error, 'open'), 'PERMISSION_DENIED', 'UNSUPPORTED')) return 'ttl';
    throw error;
  }
}

/**
 * Registers a check and removes it. If that fails and the agent may have the check, the cleaner
 * tries to remove it.
 */
async function tryCheck(client: Client, cleaner: CheckCleaner, time: CallTime): Promise<void> {
  const id = checkIdOf(randomUUID());
  try {
    await registerCheck(client, { id, name: 'incumbent', ttlMs: MIN_CHECK_TTL_MS }, time.left);
    await deregisterCheck(client, id, time.left);
  } catch (error) {
    if (mayBeApplied(error)) cleaner.schedule(id);
    throw error;
  }
}

/**
 * Removes checks that dead processes have left. The store works without this, so no failure counts.
 * The number is limited because the agent limits its connections; the next opening removes more.
 */
async function removeOrphans(client: Client, time: CallTime): Promise<void> {
  const within = (ms: number): { readonly timeoutMs: number } => ({ timeoutMs: Math.max(Math.min(time.leftMs, ms), 1) });
  const orphans = await findOrphans(client, within(FIND_ORPHANS_MS)).catch(() => []);
  await Promise.allSettled(orphans.slice(0, MAX_ORPHANS).map((orphan) => deregisterCheck(client, orphan, within(ORPHANS_MS))));
}
