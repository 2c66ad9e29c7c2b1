/** The connections, sessions and requests of a process that leads many elections. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres, type OwnServer, type StoreService } from '@incumbent/test-support';
import { now } from '../history.ts';
import { onServer, type Check } from './check.ts';
import { keysOf, postgresHost, redisHost, type Host } from './hosts.ts';
import { at, freshNamespace, spawnMany, storeUrl, WAIT_MS } from './pair.ts';

const ELECTIONS = 1_000;
const TTL_MS = 10_000;
/** In s. */
const WATCHED_S = 20;

/** What a server itself counts about its clients. */
interface Counted {
  readonly host: Host;
  /** The method, in words. */
  readonly how: string;
  /** The connections that the process may have when it is idle. */
  readonly connections: number;
  start(): Promise<OwnServer>;
  /** All requests so far, renewals included. */
  requestsOf(server: StoreService): Promise<number>;
  connectionsOf(server: StoreService): Promise<number>;
  sessionsOf(server: StoreService, namespace: string): Promise<number>;
  leadersOf(server: StoreService, namespace: string): Promise<number>;
}

const CONNECTIONS = ['connection', 'connections'] as const;

const manyElections = ({ host, how, connections: most, start, ...server }: Counted): Check => ({
  name: `${host.prefix}many-elections`,
  claim: `A process that leads ${ELECTIONS} elections on ${host.store} has ${most} ${CONNECTIONS[Math.min(most - 1, 1)]} and one session, and makes under 1 request a second when idle.`,
  method:
    `One process leads ${ELECTIONS} elections, ttl ${TTL_MS / 1_000} s. led: until it leads them all, its start included. Then, for ${WATCHED_S} s, from 3 s after the last was won, ` +
    `perSecond: its requests, renewals included; and its connections and sessions. All as the server counts them: ${how}.`,
  runs: 1,
  parallel: 1,
  open: onServer(start, async (service) => {
    const namespace = freshNamespace();
    const startedAt = now();
    await using many = await spawnMany(storeUrl([service.url], namespace, host.store), { ttlMs: TTL_MS, elections: ELECTIONS });
    const ledMs = at(await many.waitFor('allLed', { withinMs: 2 * WAIT_MS })) - startedAt;
    await sleep(3_000);
    const before = await server.requestsOf(service);
    await sleep(WATCHED_S * 1_000);
    const perSecond = ((await server.requestsOf(service)) - before) / WATCHED_S;
    const connections = await server.connectionsOf(service);
    const sessions = await server.sessionsOf(service, namespace);
    const leads = await server.leadersOf(service, namespace);
    assert.deepEqual({ connections, sessions, leads }, { connections: most, sessions: 1, leads: ELECTIONS });
    assert.ok(perSecond > 0 && perSecond < 1, `${perSecond} requests per second`);
    return { figures: { ledMs, connections, sessions, perSecond } };
  }),
});

async function linesOf(server: StoreService, ...args: readonly string[]): Promise<readonly string[]> {
  return (await server.ctl(args)).split('\n').filter((line) => line !== '');
}

export const redisManyElections: Check = manyElections({
  host: redisHost,
  how: 'scripts and pings (INFO commandstats), CLIENT LIST without redis-cli, and keys of leases',
  connections: 1,
  start: () => redisHost.start(),
  requestsOf: async (server) => {
    const calls = [...(await server.ctl(['INFO', 'commandstats'])).matchAll(/^cmdstat_(?:evalsha|ping):calls=(\d+)/gm)];
    return calls.reduce((sum, [, count]) => sum + Number(count), 0);
  },
  connectionsOf: async (server) => (await linesOf(server, 'CLIENT', 'LIST')).filter((line) => !line.includes('cmd=client')).length,
  sessionsOf: async (server, namespace) => (await linesOf(server, '--scan', '--pattern', `{${namespace}}:lease:*`)).length,
  leadersOf: async (server, namespace) => (await linesOf(server, '--scan', '--pattern', `{${namespace}}/elections/*/leader`)).length,
});

/** The statements of psql itself are about statistics only. */
const STATEMENTS = `select coalesce(sum(calls), 0) from pg_stat_statements where query not like '%pg_stat_%'`;
/** The one that asks is no client of the store. */
const CLIENTS = `select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`;

export const postgresManyElections: Check = manyElections({
  host: postgresHost,
  how: 'pg_stat_statements, pg_stat_activity, and rows of leases',
  connections: 2,
  start: async () => {
    const server = await startPostgres({ settings: { shared_preload_libraries: 'pg_stat_statements' } });
    await server.ctl(['-c', 'create extension pg_stat_statements']);
    return server;
  },
  requestsOf: async (server) => countOf(server, STATEMENTS),
  connectionsOf: async (server) => countOf(server, CLIENTS),
  sessionsOf: (server, namespace) => countOf(server, `select count(*) from incumbent.leases where ${keysOf(namespace)}`),
  leadersOf: (server, namespace) =>
    countOf(server, `select count(*) from incumbent.keys where ${keysOf(namespace)} and key like 'elections/%/leader'`),
});

async function countOf(server: StoreService, statement: string): Promise<number> {
  return Number(await server.ctl(['-c', statement]));
}
