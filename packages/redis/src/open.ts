/** Opens the store: connects, and checks what the server is and what this user may do. */

import { StoreError, type Store } from '@incumbent/core';

import { mildestOf, toStoreError } from './errors.ts';
import { channelOf, listOf, placesOf, tagOf, textOf, bytesOf } from './namespace.ts';
import { readOptions, type RedisOptions } from './options.ts';
import { rights } from './scripts/rights.ts';
import { run } from './scripts/script.ts';
import { RedisStore } from './store.ts';
import { Client } from './wire/client.ts';
import type { Connection } from './wire/connection.ts';
import type { Reply } from './wire/resp.ts';

/** One server may take so long to accept, and to greet; less where there are others to try in the time for opening. */
const DIAL_TIMEOUT_MS = 3_000;

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
  const { clock, connectTimeoutMs, endpoints, namespace, db } = settings;
  const names = { tag: tagOf(namespace), places: placesOf(namespace), channel: channelOf(namespace, db) };
  let hear: (reply: Reply) => void = () => {};
  const client = new Client({
    ...settings,
    // Before the time for opening is up, so that it can be said of each server what it did.
    dialTimeoutMs: Math.floor(Math.min((0.9 * connectTimeoutMs) / endpoints.length, DIAL_TIMEOUT_MS)),
    mildest: mildestOf,
    check: (connection) => inspect(connection, names.tag, names.channel),
    unasked: (reply) => hear(reply),
  });
  try {
    await client.call(async () => {}, { timeoutMs: connectTimeoutMs });
    return new RedisStore(client, { ...names, clock }, (listener) => {
      hear = listener;
    });
  } catch (error) {
    client.close();
    throw toStoreError(error, 'open');
  }
}

/**
 * Asked on every connection: a server that took over, or was started anew, may have been set up in another way. In a cluster a server that has not the slot
 * of this namespace says so, and the next one is tried.
 */
async function inspect(connection: Connection, tag: string, channel: string): Promise<void> {
  const [missing, memory] = await Promise.all([run(connection, rights, tag, [channel]), connection.request(['INFO', 'memory'])]);
  const commands = listOf(missing).map((command) => textOf(bytesOf(command)));
  if (commands.length > 0)
    throw new StoreError(
      'PERMISSION_DENIED',
      'refused',
      `redis: this user may not use ${commands.join(', ')}, on keys that begin with "${tag}" and the channel "${channel}"`,
    );
  checkPolicy(memory);
}

/** A server that evicts keys when its memory is full would take leases, and terms, as lightly as anything else. */
function checkPolicy(memory: Reply): void {
  const text = memory instanceof Uint8Array ? textOf(memory) : '';
  const policy = /^maxmemory_policy:(\S+)/m.exec(text)?.[1];
  if (policy === 'noeviction') return;
  throw new StoreError('UNSUPPORTED', 'refused', `redis: maxmemory-policy is ${policy ?? 'unknown'}, and must be noeviction`);
}
