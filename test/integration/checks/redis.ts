/** Claims about Redis only. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkHistory } from '@incumbent/conformance';
import type { StoreService } from '@incumbent/test-support';
import { historyOf, now } from '../history.ts';
import { onServer, type Check } from './check.ts';
import { redisHost } from './hosts.ts';
import { at, ELECTION, freshNamespace, WAIT_MS, spawnMany, spawnMember, storeUrl, termOf } from './pair.ts';

const TTL_MS = 2_000;
const FOLLOWS_WITHIN_MS = 2_200;

export const redisCrash: Check = {
  name: 'redis-crash',
  claim: `A leader that is killed (kill -9) is followed within ${FOLLOWS_WITHIN_MS} ms at a ttl of ${TTL_MS} ms.`,
  method:
    `Two processes, ttl ${TTL_MS} ms, on one redis; the leader is killed at a random phase of its renewals. next: from the kill to the other one being told that it ` +
    'leads, in the next term.',
  runs: 20,
  parallel: 2,
  open: onServer(
    () => redisHost.start(),
    async (server, { random, isTimed }) => {
      const url = storeUrl([server.url], freshNamespace(), 'redis');
      await using a = await spawnMember(url, 'a', TTL_MS);
      const first = await a.waitFor('elected', { withinMs: WAIT_MS });
      await using b = await spawnMember(url, 'b', TTL_MS);
      await sleep(TTL_MS / 2 + random() * TTL_MS);
      a.sigkill();
      const killedAt = now();
      const elected = await b.waitFor('elected', { withinMs: WAIT_MS });
      const nextMs = at(elected) - killedAt;
      assert.equal(termOf(elected), termOf(first) + 1n);
      assert.ok(!isTimed || nextMs <= FOLLOWS_WITHIN_MS, `it took ${nextMs} ms`);
      const events = [...historyOf(a, 'a', ELECTION), { type: 'died' as const, at: killedAt, member: 'a' }, ...historyOf(b, 'b', ELECTION)];
      assert.deepEqual(checkHistory(events, { unfinished: true }), []);
      return { figures: { nextMs } };
    },
  ),
};

const ELECTIONS = 1_000;

/** The number of scripts and pings by the server's own count: all that an open store sends. */
async function requests(server: StoreService): Promise<number> {
  const calls = [...(await server.ctl(['INFO', 'commandstats'])).matchAll(/^cmdstat_(?:evalsha|ping):calls=(\d+)/gm)];
  return calls.reduce((sum, [, count]) => sum + Number(count), 0);
}

async function linesOf(server: StoreService, ...args: readonly string[]): Promise<readonly string[]> {
  return (await server.ctl(args)).split('\n').filter((line) => line !== '');
}

export const redisManyElections: Check = {
  name: 'redis-many-elections',
  claim: `A process that leads ${ELECTIONS} elections on Redis has one connection and one session, and makes under 1 request a second when idle.`,
  method:
    `One process leads ${ELECTIONS} elections, ttl 10 s. led: until it leads them all, its start included. Then, as the server tells: connections (CLIENT LIST, redis-cli left out), ` +
    'sessions (keys of leases), and for 20 s, from 3 s after the last was won, perSecond: scripts and pings (INFO commandstats), renewals included.',
  runs: 1,
  parallel: 1,
  open: onServer(
    () => redisHost.start(),
    async (server) => {
      const namespace = freshNamespace();
      const startedAt = now();
      await using many = await spawnMany(storeUrl([server.url], namespace, 'redis'), { ttlMs: 10_000, elections: ELECTIONS });
      const ledMs = at(await many.waitFor('allLed', { withinMs: 2 * WAIT_MS })) - startedAt;
      await sleep(3_000);
      const before = await requests(server);
      await sleep(20_000);
      const perSecond = ((await requests(server)) - before) / 20;
      const connections = (await linesOf(server, 'CLIENT', 'LIST')).filter((line) => !line.includes('cmd=client')).length;
      const sessions = (await linesOf(server, '--scan', '--pattern', `{${namespace}}:lease:*`)).length;
      const leads = (await linesOf(server, '--scan', '--pattern', `{${namespace}}/elections/*/leader`)).length;
      assert.deepEqual({ connections, sessions, leads }, { connections: 1, sessions: 1, leads: ELECTIONS });
      assert.ok(perSecond < 1, `${perSecond} requests per second`);
      return { figures: { ledMs, connections, sessions, perSecond } };
    },
  ),
};
