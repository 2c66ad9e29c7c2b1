/**
 * Makes the client of a store, which connects when it is first needed, to a server that the store
 * can use.
 */

import { StoreError } from '@incumbent/core/adapter';
import { dialTimeoutMs, withGrant } from '@incumbent/network';

import { missingCommands } from '../errors.ts';
import { remainingTimes } from '../leases.ts';
import { keyspaceOf, type Keyspace } from '../namespace.ts';
import type { RedisSettings } from '../options.ts';
import { bytesOf, listOf, textOf } from '../protocol/replies.ts';
import type { Reply } from '../protocol/resp.ts';
import { permissionsScript } from '../scripts/permissions.ts';
import { runScript } from '../scripts/script.ts';
import { Client } from './client.ts';
import type { Connection } from './connection.ts';
import { sentinelServers } from './sentinel.ts';
import { listedServers } from './servers.ts';

/** `onPush` receives the messages of the server that answer no request. */
export function createClient(settings: RedisSettings, onPush: (reply: Reply) => void): Client {
  const { clock, connectTimeoutMs, endpoints, sentinel } = settings;
  const keyspace = keyspaceOf(settings);
  // Besides the Sentinels, there is the server that they name.
  const dials = sentinel === undefined ? endpoints.length : sentinel.endpoints.length + 1;
  const timeoutMs = dialTimeoutMs(connectTimeoutMs, dials);
  return new Client({
    ...settings,
    servers: sentinel === undefined ? listedServers(endpoints) : sentinelServers({ ...sentinel, clock, timeoutMs }),
    dialTimeoutMs: timeoutMs,
    check: (connection) => checkServer(connection, keyspace),
    onPush,
  });
}

/**
 * Checks every new connection: a server that has taken over or restarted may have another
 * configuration. A server of a cluster refuses the check if it does not have the slot of this
 * namespace.
 */
async function checkServer(connection: Connection, keyspace: Keyspace): Promise<void> {
  const [missing, memory] = await Promise.all([
    runScript(connection, permissionsScript, keyspace, [], (reply) => Array.from(listOf(reply), (name) => textOf(bytesOf(name)))),
    connection.request(['INFO', 'memory'], (reply) => (reply instanceof Uint8Array ? textOf(reply) : '')),
  ]);
  if (missing.length > 0) {
    const message = `redis: the user "${keyspace.user}" may not use ${missing.join(', ')}, on keys that begin with "${keyspace.tag}" and the channel "${keyspace.channel}"`;
    throw withGrant(new StoreError('PERMISSION_DENIED', 'refused', message), () => missingCommands(missing, keyspace));
  }
  checkEviction(memory);
  // A primary that lacks replicas, or whose disk fails, refuses every script that may write. Its
  // role does not show this.
  await remainingTimes(connection, keyspace, []);
}

/** A server that evicts keys when its memory is full would also evict leases and terms. */
function checkEviction(memory: string): void {
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1];
  if (policy === 'noeviction') return;
  throw new StoreError('UNSUPPORTED', 'refused', `redis: maxmemory-policy is ${policy ?? 'unknown'}, and must be noeviction`);
}
