/** From settings to a client that connects when it first has to, to a server that is fit for this. */

import { StoreError } from '@incumbent/core/adapter';

import { mildestOf } from '../errors.ts';
import type { FeedNames } from '../watch-hub/watch-hub.ts';
import { bytesOf, channelOf, listOf, placesOf, tagOf, textOf } from '../namespace.ts';
import type { RedisSettings } from '../options.ts';
import { lefts } from '../scripts/leases.ts';
import { rights } from '../scripts/permissions.ts';
import { run } from '../scripts/script.ts';
import { Client } from './client.ts';
import type { Connection } from './connection.ts';
import type { Reply } from '../protocol/resp.ts';

/** One server may take so long to accept, and to greet; less where there are others to try in the time for opening. */
const DIAL_TIMEOUT_MS = 3_000;

export function namesOf({ namespace, db }: RedisSettings): FeedNames {
  return { tag: tagOf(namespace), places: placesOf(namespace), channel: channelOf(namespace, db) };
}

/** `unasked` is told what the server says that nobody asked for. */
export function clientOf(settings: RedisSettings, unasked: (reply: Reply) => void): Client {
  const { connectTimeoutMs, endpoints } = settings;
  const { tag, channel } = namesOf(settings);
  return new Client({
    ...settings,
    // Before the time for opening is up, so that it can be said of each server what it did.
    dialTimeoutMs: Math.floor(Math.min((0.9 * connectTimeoutMs) / endpoints.length, DIAL_TIMEOUT_MS)),
    mildest: mildestOf,
    check: (connection) => inspect(connection, tag, channel),
    unasked,
  });
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
  // A script that may write, and here does not: a primary that lacks replicas or whose disk fails does not begin it. Its role is that of any other.
  await run(connection, lefts, tag, [channel]);
}

/** A server that evicts keys when its memory is full would take leases, and terms, as lightly as anything else. */
function checkPolicy(memory: Reply): void {
  const text = memory instanceof Uint8Array ? textOf(memory) : '';
  const policy = /^maxmemory_policy:(\S+)/m.exec(text)?.[1];
  if (policy === 'noeviction') return;
  throw new StoreError('UNSUPPORTED', 'refused', `redis: maxmemory-policy is ${policy ?? 'unknown'}, and must be noeviction`);
}
