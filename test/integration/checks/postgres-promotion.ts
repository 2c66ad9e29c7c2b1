/** A standby that replaces its primary, while members lead. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgresCluster, type PostgresCluster } from '@incumbent/test-support';
import { now } from '../history.ts';
import type { Check, Figures } from './check.ts';
import { keysOf } from './hosts.ts';
import { Trio } from './outages.ts';
import { ELECTION, freshNamespace, storeUrl, TTL_MS } from './pair.ts';

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
