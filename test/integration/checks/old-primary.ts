/**
 * A Redis replica replaces its primary. The old primary continues and rejects writes, and the role
 * that it reports does not change.
 */

import assert from 'node:assert/strict';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from 'incumbent';
import { makeScratch, startRedis, until, type RedisServer } from '@incumbent/test-support';
import { now } from '../history.ts';
import type { Check } from './check.ts';
import { redisHost } from './hosts.ts';
import { assertNothingLost, assertSucceeds, Onlooker, OBSERVER_MS } from './onlooker.ts';
import { ELECTION, freshNamespace, WAIT_MS, spawnMember, storeUrl } from './pair.ts';

/** The default ttl. All timing of these members is the default. */
const DEFAULT_TTL_MS = 10_000;
/** From the failover to a leader whose lease is on the new primary. */
const VACANCY_MS = DEFAULT_TTL_MS + 5_000;

/** Longer than the old primary keeps a lease that is not renewed there. */
const WATCHED_MS = 1.5 * DEFAULT_TTL_MS;

/** Why the old primary refuses writes: it lacks replicas, or cannot save to its disk. */
const REFUSALS = ['NOREPLICAS', 'MISCONF'] as const;
type Refusal = (typeof REFUSALS)[number];
const VERSIONS = ['default', 'newer'] as const;

interface Refusing extends AsyncDisposable {
  readonly server: RedisServer;
  /** Makes it refuse writes, if it does not for want of replicas. */
  refuse(): Promise<void>;
}

async function startPrimary(refusal: Refusal, version: (typeof VERSIONS)[number]): Promise<Refusing> {
  if (refusal === 'NOREPLICAS') {
    const server = await startRedis({ version, flags: ['--min-replicas-to-write', '1'] });
    return { server, refuse: async () => {}, [Symbol.asyncDispose]: () => server.stop() };
  }
  const scratch = await makeScratch('redis-disk');
  const folder = join(scratch.path, 'vanishing');
  await mkdir(folder);
  const server = await startRedis({ version, flags: ['--appendonly', 'no', '--save', '3600 1000000', '--dir', folder] });
  return {
    server,
    refuse: async () => {
      await rm(folder, { recursive: true });
      await server.ctl(['bgsave']);
    },
    [Symbol.asyncDispose]: async () => {
      await server.stop();
      await scratch.remove();
    },
  };
}

/**
 * Makes `replica` follow `primary`, and resolves when `primary` counts it among those that have its
 * writes.
 */
async function follow(replica: RedisServer, primary: RedisServer): Promise<void> {
  const { hostname, port } = new URL(primary.url);
  await replica.ctl(['replicaof', hostname, port]);
  const isOnline = async (): Promise<boolean> => (await primary.ctl(['info', 'replication'])).includes('state=online');
  await until(isOnline, { what: 'the replica is online', withinMs: WAIT_MS });
}

/**
 * How long this server keeps the lease of the leader's record, in ms; below 0 where it has none.
 */
async function leftMs(server: RedisServer, namespace: string): Promise<number> {
  const lease = (await server.ctl(['hget', `{${namespace}}/elections/${ELECTION}/leader`, 'l'])).trim();
  return Number(await server.ctl(['pttl', `{${namespace}}:lease:${lease}`]));
}

async function oneRun(index: number, random: () => number): Promise<Readonly<Record<string, number>>> {
  const refusal = REFUSALS[index % REFUSALS.length] ?? 'MISCONF';
  const version = VERSIONS[Math.floor(index / REFUSALS.length) % VERSIONS.length] ?? 'default';
  const namespace = freshNamespace();
  await using old = await startPrimary(refusal, version);
  await using replica = await startRedis({ version });
  const primary = old.server;
  await follow(replica, primary);
  const url = storeUrl([primary.url, replica.url], namespace, 'redis');
  await using a = await spawnMember(url, 'a', DEFAULT_TTL_MS);
  await a.waitFor('elected', { withinMs: WAIT_MS });
  // It knows the old primary first, as all do.
  await using onlooker = new Onlooker(await openStore(url));
  await onlooker.sees('a');
  await using b = await spawnMember(url, 'b', DEFAULT_TTL_MS);
  const isQueued = (): Promise<boolean> => redisHost.hasKey(replica, `${namespace}/elections/${ELECTION}/candidates/b~`);
  await until(isQueued, { what: 'the replica has b in its queue', withinMs: WAIT_MS });
  await sleep((random() * DEFAULT_TTL_MS) / 3);
  const failoverAt = now();
  await replica.ctl(['replicaof', 'no', 'one']);
  await old.refuse();
  const refuses = async (): Promise<boolean> => (await primary.ctl(['set', 'probe', '1']).catch(String)).includes(refusal);
  await until(refuses, { what: `the old primary answers ${refusal}`, withinMs: WAIT_MS });
  // The time that a lease has left rises by a renewal alone, or with the next leader's lease.
  let least = Infinity;
  const isKept = async (): Promise<boolean> => {
    const left = await leftMs(replica, namespace);
    if (left > least) return true;
    least = Math.min(least, left);
    return false;
  };
  await until(isKept, { what: 'a leader whose lease the new primary keeps', withinMs: WAIT_MS });
  const backMs = now() - failoverAt;
  assert.match(await primary.ctl(['info', 'replication']), /role:master/);
  assert.ok(backMs <= VACANCY_MS, `it took ${backMs} ms`);
  // The new primary has had the leader's lease all along, so it could be renewed.
  assert.ok(least > 0, 'the new primary has lost the lease');
  await sleep(WATCHED_MS);
  assertNothingLost(a, b);
  await assertSucceeds(a, b, onlooker);
  return { [`${refusal.toLowerCase()}Ms`]: backMs };
}

export const redisOldPrimary: Check = {
  name: 'redis-old-primary',
  claim:
    'When a Redis replica is promoted and its old primary lives on but refuses writes (NOREPLICAS, MISCONF), somebody leads by the new primary within ttl + 5 s, with the default timing, and no leadership is lost.',
  method:
    `A primary and its replica, Redis and Valkey in turn; two processes that know both addresses, all timing by default (ttl ${DEFAULT_TTL_MS} ms); one leads. At a random phase the replica is promoted ` +
    '(REPLICAOF NO ONE). The old primary needs a replica to write, or in every other run its data folder is gone; it goes on telling the role of a primary. noreplicas, misconf: from the promotion until the new primary ' +
    `keeps a renewed lease of a leader. Watched for ${WATCHED_MS / 1_000} s more: the leadership is not lost, as the new primary has had its lease all along. Then the leader shuts down and the other one leads. ` +
    `An observer that began at the old primary shows the truth, or unknown, all the time, ${OBSERVER_MS / 1_000} s late at most.`,
  runs: 20,
  parallel: 1,
  open: async () => ({
    run: async (index, { random }) => ({ figures: await oneRun(index, random) }),
    [Symbol.asyncDispose]: async () => {},
  }),
};
