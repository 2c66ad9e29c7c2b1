/** A standby that replaces its primary, while members lead. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgresCluster, until, type PostgresCluster, type ScriptEvent } from '@incumbent/test-support';
import { now } from '../history.ts';
import { onServer, type Check, type Figures } from './check.ts';
import { keysOf } from './hosts.ts';
import { Trio } from './outages.ts';
import { at, ELECTION, freshNamespace, lastValid, spawnMember, storeUrl, termOf, TTL_MS, WAIT_MS } from './pair.ts';

/** How the primary fails. */
const FAULTS = ['killed', 'paused', 'cutOff'] as const;
type Fault = (typeof FAULTS)[number];

/**
 * From the failure to a leader in a new term, the promotion included, in ms: the leases begin anew
 * at the promotion.
 */
const SUCCESSION_MS = TTL_MS + 10_000;

/** The term that the server has last issued. */
async function termAt(cluster: PostgresCluster, server: number, namespace: string): Promise<bigint> {
  const sql = `select convert_from(value, 'UTF8')::json->>'term' from incumbent.keys where ${keysOf(namespace)} and key = 'elections/${ELECTION}/term'`;
  const answer = await serverAt(cluster, server).ctl(['-c', sql]);
  return BigInt(answer.trim());
}

function serverAt({ servers }: PostgresCluster, index: number): PostgresCluster['servers'][number] {
  return servers[index] ?? assert.fail(`there is no server ${index}`);
}

async function begin(cluster: PostgresCluster, primary: number, fault: Fault): Promise<void> {
  switch (fault) {
    case 'killed':
      return serverAt(cluster, primary).kill();
    case 'paused':
      return serverAt(cluster, primary).pause();
    case 'cutOff':
      return cluster.cutOff();
    default:
      return fault satisfies never;
  }
}

/** The standby is promoted, and the leader is killed: the next term is won on the new primary. */
async function promotion(cluster: PostgresCluster, trio: Trio, namespace: string, fault: Fault, random: () => number): Promise<Figures> {
  await trio.start();
  const before = await trio.leads(now(), 'a leader before the promotion');
  await sleep((random() * TTL_MS) / 3);
  const primary = await cluster.leader();
  const standby = 1 - primary;
  const failedAt = now();
  await begin(cluster, primary, fault);
  await cluster.promote(standby);
  // The former primary accepts connections, and its commits wait for a standby.
  if (fault === 'paused') await serverAt(cluster, primary).resume();
  await trio.killLeader();
  const killedAt = now();
  const next = await trio.leads(killedAt, 'a leader in a new term');
  assert.ok(next.term > before.term, 'terms rise');
  assert.equal(await termAt(cluster, standby, namespace), next.term, 'the new primary has issued the term');
  assert.ok(next.at - failedAt <= SUCCESSION_MS, `it took ${next.at - failedAt} ms`);
  trio.check();
  await cluster.heal();
  await cluster.follow(primary);
  return { [`${fault}Ms`]: next.at - killedAt, promotedMs: killedAt - failedAt };
}

export const postgresPromotion: Check = {
  name: 'postgres-promotion',
  claim:
    'When the synchronous standby of a failed PostgreSQL primary is promoted, at most one member leads at any time, no term is issued twice, and somebody leads by the new primary, ' +
    'also where the former primary still accepts connections.',
  method:
    `A primary and its synchronous standby; three processes, ttl ${TTL_MS} ms, stay for all runs and know both. In turn at a random phase: the primary is killed; it is stopped (SIGSTOP), and goes on after the promotion; ` +
    'or nothing passes between the two servers, and clients reach both. `pg_ctl promote` on the standby (promotedMs: until it accepts writes). Then the leader is killed, and killedMs, pausedMs, cutOffMs: until another says that it leads, ' +
    'in a higher term, which the new primary has. The history of all runs is checked. The former primary then becomes the standby, from a new copy.',
  runs: 20,
  parallel: 1,
  open: async () => {
    const cluster = await startPostgresCluster({ standby: 'synchronous' });
    const namespace = freshNamespace();
    const trio = new Trio([storeUrl(cluster.endpoints, namespace, 'postgres')]);
    return {
      run: async (index, { random }) => ({
        figures: await promotion(cluster, trio, namespace, FAULTS[index % FAULTS.length] ?? 'killed', random),
      }),
      [Symbol.asyncDispose]: async () => {
        await trio.stop();
        await cluster.stop();
      },
    };
  },
};

/** A standby is promoted that lacks the newest claim. */
async function lossyPromotion(cluster: PostgresCluster): Promise<Figures> {
  const namespace = freshNamespace();
  const url = storeUrl(cluster.endpoints, namespace, 'postgres');
  await using a = await spawnMember(url, 'a');
  await a.waitFor('elected', { withinMs: WAIT_MS });
  await using b = await spawnMember(url, 'b');
  await using c = await spawnMember(url, 'c');
  const primary = await cluster.leader();
  const candidates = `select count(*) = 3 from incumbent.keys where ${keysOf(namespace)} and key like 'elections/${ELECTION}/candidates/%'`;
  const allQueued = async (): Promise<boolean> => (await serverAt(cluster, primary).ctl(['-c', candidates])).trim() === 't';
  await until(allQueued, { what: 'all are in the queue', withinMs: WAIT_MS });
  await cluster.inSync();
  cluster.cutOff();
  a.sigkill();
  const others = [b, c];
  const electedIn = (events: readonly ScriptEvent[]): ScriptEvent | undefined => events.find(({ event }) => event === 'elected');
  const second = await until(() => others.map(({ events }) => electedIn(events)).find(Boolean), {
    what: 'the second leader',
    withinMs: WAIT_MS,
  });
  const from = others.map(({ events }) => events.length);
  await serverAt(cluster, primary).kill();
  await cluster.promote(1 - primary);
  const promotedAt = now();
  const lost = termOf(second) - (await termAt(cluster, 1 - primary, namespace));
  const third = await until(() => others.map(({ events }, index) => electedIn(events.slice(from[index]))).find(Boolean), {
    what: 'a leader by the new primary',
    withinMs: WAIT_MS,
  });
  assert.ok(lost > 0n, 'the new primary lacks the newest term');
  const leader = others.find(({ events }) => events.includes(second)) ?? assert.fail();
  // The same member may have been elected again, in a term of the same number.
  const believed = leader.events.includes(third) ? -Infinity : lastValid(leader, termOf(second));
  await cluster.heal();
  await cluster.follow(primary);
  return {
    repeated: Number(termOf(third) <= termOf(second)),
    overlapMs: Math.max(0, believed - at(third)),
    backMs: at(third) - promotedAt,
  };
}

export const postgresLossyPromotion: Check = {
  name: 'postgres-promotion-asynchronous',
  claim:
    'When an asynchronous standby is promoted that lacks the newest claim, the acknowledged claim is lost, and a member that has not seen its term may issue it again. So an election refuses such a store, unless it accepts it by name.',
  method:
    `A primary and its asynchronous standby; three processes, ttl ${TTL_MS} ms, know both, and accept the weak store. Nothing passes between the servers any more; the leader is killed, and another one leads, by the primary alone. ` +
    'Then the primary is killed and the standby promoted, which must lack the last term. repeated: 1 if the next term is not above the lost one. overlapMs: how long the leader of the lost term considered itself leader beside the next ' +
    'one. backMs: from the promotion to the next leader.',
  runs: 20,
  parallel: 1,
  open: onServer(
    () => startPostgresCluster({ standby: 'asynchronous' }),
    async (cluster) => ({ figures: await lossyPromotion(cluster) }),
  ),
};
