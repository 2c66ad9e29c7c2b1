/** Opens the store: asks for a key as a swap would, and finds out what sessions can be bound to. */

import { randomUUID } from 'node:crypto';

import type { Store } from '@incumbent/core';
import { isIncumbentError, StoreError } from '@incumbent/core/adapter';
import { CallTime, isLoopback } from '@incumbent/network';

import { checkIdOf, deregisterCheck, findOrphans, registerCheck } from './protocol/check.ts';
import { CONSISTENT, readKeys } from './protocol/kv.ts';
import { toStoreError } from './errors.ts';
import { Client } from './client/client.ts';
import { callOver, ExchangeError } from './client/failure.ts';
import { MIN_CHECK_TTL_MS } from './leases.ts';
import { Namespace } from './namespace.ts';
import { readOptions, type ConsulOptions, type ConsulSettings } from './options.ts';
import { ConsulStore } from './store.ts';

/** How many checks of dead processes are removed at an opening, and how long it waits for that. */
const MAX_ORPHANS = 50;
const ORPHANS_MS = 500;

/**
 * Opens a Consul store: `consul://:token@host:8500/namespace`, `consuls://…` for TLS, or options. Resolves when the servers' leader has answered through the
 * agent.
 *
 * Rejects within `connectTimeoutMs` with a `StoreError`: `UNREACHABLE`, `TIMEOUT`, `UNAVAILABLE` (the servers have no leader, or the agent no servers),
 * `UNAUTHENTICATED` (token or certificate), `PERMISSION_DENIED` (to read the namespace; to keep a check, where one was asked for), `UNSUPPORTED` (no Consul).
 * Throws a `TypeError` or `RangeError` with the code `INVALID_OPTION` for options that cannot be used.
 */
export async function openConsul(urlOrOptions: string | ConsulOptions): Promise<Store> {
  const settings = await readOptions(urlOrOptions);
  const client = new Client(settings);
  const time = new CallTime(settings.clock, { timeoutMs: settings.connectTimeoutMs }, callOver);
  try {
    await findConsul(client, new Namespace(settings.namespace), time);
    return new ConsulStore(client, settings, await bindingOf(client, settings, time));
  } catch (error) {
    // What takes its time here is nobody's who waits for the store.
    void client.close();
    throw toStoreError(error, 'open');
  }
}

/** Any key will do: it is the answer's form that tells Consul from others, and its success that tells a leader and permission. */
async function findConsul(client: Client, namespace: Namespace, time: CallTime): Promise<void> {
  try {
    await readKeys(client, namespace.key('members'), CONSISTENT, time.left);
  } catch (error) {
    throw foundInstead(error);
  }
}

/** A read that ended so did nothing, and nothing of it can come later. */
function foundInstead(error: unknown): unknown {
  if (!(error instanceof ExchangeError)) return error;
  if (error.failure.kind === 'malformed')
    return new StoreError('UNSUPPORTED', 'refused', `consul open: what answers is no Consul: ${error.message}`, { cause: error });
  if (error.failure.kind !== 'cut' || toStoreError(error, 'open').code !== 'CONNECTION_LOST') return error;
  const why = 'the connection was ended without an answer, as by one that is no Consul';
  return new StoreError('UNREACHABLE', 'notSent', `consul open: ${why}: ${error.message}`, { cause: error });
}

async function bindingOf(client: Client, { session, endpoint }: ConsulSettings, time: CallTime): Promise<'check' | 'ttl'> {
  if (session === 'ttl' || (session === 'auto' && !isLoopback(endpoint))) return 'ttl';
  try {
    await tryCheck(client, time);
    return 'check';
  } catch (error) {
    if (session === 'auto' && isIncumbentError(toStoreError(error, 'open'), 'PERMISSION_DENIED', 'UNSUPPORTED')) return 'ttl';
    throw error;
  }
}

/** Makes a check and removes it, and with it those that dead processes have left. */
async function tryCheck(client: Client, time: CallTime): Promise<void> {
  const id = checkIdOf(randomUUID());
  await registerCheck(client, { id, name: 'incumbent', ttlMs: MIN_CHECK_TTL_MS }, time.left);
  const orphans = await findOrphans(client, time.left);
  await deregisterCheck(client, id, time.left);
  // A favour to the agent, without which the store is as good. It allows so many connections; more that are left are left to the next opening.
  const some = orphans.slice(0, MAX_ORPHANS);
  await Promise.allSettled(some.map((orphan) => deregisterCheck(client, orphan, { timeoutMs: Math.min(time.leftMs, ORPHANS_MS) })));
}
