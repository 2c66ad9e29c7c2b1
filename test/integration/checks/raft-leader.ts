/** The Raft leader of the store's servers loses its leadership and returns. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEtcdCluster, until, type Cluster, type EtcdCluster } from '@incumbent/test-support';
import { now } from '../history.ts';
import type { Check, Figures } from './check.ts';
import type { ClusterHost } from './hosts.ts';
import { Trio } from './outages.ts';
import { freshNamespace, WAIT_MS, storeUrl } from './pair.ts';

const TTL_MS = 10_000;
/**
 * The longest absence of a server, in ttls. A Raft leader that is stopped for longer may end live
 * leases when it continues (`endsEarly`), and the claim does not hold. Members renew every third of
 * a ttl, so an etcd server may consider a lease expired after two thirds. Consul waits for twice
 * the ttl.
 */
const MOST_AWAY_TTLS = { etcd: 0.6, consul: 2 } as const;
/** A member leads again within this time, whatever happens to one of three servers. */
const SILENCE_MS = TTL_MS + 5_000;
/** A server that returns has campaigned against the others by then, if it campaigns at all. */
const SETTLING_MS = 3_000;

/**
 * Deposes the server at this index as the Raft leader. Resolves with a function that brings the
 * server back.
 */
type Depose<T extends Cluster> = (cluster: T, leader: number) => Promise<() => Promise<void>>;

interface Stage<T extends Cluster> {
  readonly trio: Trio;
  readonly cluster: T;
  readonly depose: Depose<T>;
  readonly mostAwayMs: number;
}

/**
 * Another server becomes the Raft leader, and the deposed one returns. Then the leader of the
 * election is killed, and a member must win the next term.
 */
async function deposal<T extends Cluster>({ trio, cluster, depose, mostAwayMs }: Stage<T>, random: () => number): Promise<Figures> {
  await trio.start();
  const before = await trio.leads(now(), 'a leader before the fault');
  const deposed = await cluster.leader();
  const deposedAt = now();
  const bringBack = await depose(cluster, deposed);
  let successor: number;
  try {
    successor = await otherLeader(cluster, deposed);
    await sleep(random() * 1_500);
    await trio.leads(now(), 'a leader while another server leads the servers');
  } finally {
    await bringBack();
  }
  const returnedAt = now();
  const awayMs = returnedAt - deposedAt;
  assert.ok(awayMs < mostAwayMs, `the server was away for ${awayMs} ms, too long for this claim`);
  await sleep(SETTLING_MS);
  const after = await trio.leads(now(), 'a leader after the server has returned');
  assert.ok(after.term >= before.term, 'terms do not fall');
  const silentMs = trio.longestSilence(deposedAt, after.at);
  assert.ok(silentMs <= SILENCE_MS, `nobody led for ${silentMs} ms`);
  const unseated = Number((await cluster.leader()) !== successor);
  await trio.killLeader();
  const killedAt = now();
  const next = await trio.leads(killedAt, 'a leader after the last one was killed');
  assert.ok(next.term > after.term, 'terms rise');
  trio.check();
  const kept = Number(after.term === before.term);
  return { awayMs, silentMs, kept, unseated, nextMs: next.at - killedAt };
}

async function otherLeader(cluster: Cluster, deposed: number): Promise<number> {
  const other = await until(
    async () => {
      const leader = await cluster.leader();
      return leader === deposed ? undefined : { leader };
    },
    { what: 'another server to lead', withinMs: WAIT_MS },
  );
  return other.leader;
}

const FIGURES =
  `Three processes, ttl ${TTL_MS} ms, stay for all runs. away: until the server is back, up to 1.5 s after another server leads; silent: the longest time, until ${SETTLING_MS / 1_000} s after the return, ` +
  'between two answers of isValid() that were true (asked every 5 ms), of any process; kept: 1 if no new term began meanwhile; unseated: 1 if the server that ' +
  'had taken over no longer leads the servers by then. Then the leader of the election is killed, and next: until another says that it leads, in a higher term.';

const CLAIM = `at most one member leads at any time, somebody leads within ttl + ${(SILENCE_MS - TTL_MS) / 1_000} s, and terms rise.`;

function awayFor(store: keyof typeof MOST_AWAY_TTLS): string {
  return `for less than ${MOST_AWAY_TTLS[store]} × ttl`;
}

/** Stopped by SIGSTOP until another server leads, and longer. */
export const raftLeaderPaused = <T extends Cluster>(host: ClusterHost<T>, store: keyof typeof MOST_AWAY_TTLS): Check => ({
  name: `${host.prefix}raft-leader-paused`,
  claim: `When the Raft leader of three ${host.store} servers is stopped by SIGSTOP until another server leads, ${awayFor(store)}, and is then woken, ${CLAIM}`,
  method: `${host.stage ?? ''}The server that leads is found by the servers' own status. ${FIGURES}`,
  runs: 5,
  parallel: 1,
  open: async () => {
    const cluster = await host.startCluster();
    const namespace = freshNamespace();
    const ways = host.waysTo?.(cluster) ?? [cluster.endpoints];
    const trio = new Trio(
      ways.map((endpoints) => storeUrl(endpoints, namespace, host.store)),
      TTL_MS,
    );
    return {
      run: async (_index, { random }) => ({
        figures: await deposal({ trio, cluster, depose: pause, mostAwayMs: MOST_AWAY_TTLS[store] * TTL_MS }, random),
      }),
      [Symbol.asyncDispose]: async () => {
        await trio.stop();
        await cluster.stop();
      },
    };
  },
});

async function pause(cluster: Cluster, leader: number): Promise<() => Promise<void>> {
  const server = cluster.servers[leader];
  assert.ok(server !== undefined);
  await server.pause();
  return () => server.resume();
}

/**
 * Cut off from the other servers while clients reach it. It continues as the leader for an election
 * timeout.
 */
async function cutOff(cluster: EtcdCluster, leader: number): Promise<() => Promise<void>> {
  cluster.cutOff(leader);
  return () => cluster.heal();
}

/**
 * Uses `etcdctl move-leader`. The server stays in the cluster, so there is nothing to bring back.
 */
async function moveLeader(cluster: EtcdCluster, leader: number): Promise<() => Promise<void>> {
  const [server, successor] = [cluster.servers[leader], cluster.servers[(leader + 1) % cluster.servers.length]];
  assert.ok(server !== undefined && successor !== undefined);
  const status = await successor.ctl(['endpoint', 'status', '--write-out=simple']);
  await server.ctl(['move-leader', status.split(', ')[1] ?? '']);
  return async () => {};
}

export const etcdRaftLeaderDeposed: Check = {
  name: 'raft-leader-deposed',
  claim: `When the Raft leader of three etcd servers is cut off from the others until another server leads, ${awayFor('etcd')}, and returns, or hands over by \`etcdctl move-leader\`, ${CLAIM}`,
  method: `The peers of an etcd speak through proxies. Odd runs cut the Raft leader off from its peers, while clients reach it; even runs use \`move-leader\`. ${FIGURES}`,
  runs: 5,
  parallel: 1,
  open: async () => {
    const cluster = await startEtcdCluster({ size: 3, gated: true });
    const trio = new Trio([storeUrl(cluster.endpoints, freshNamespace())], TTL_MS);
    return {
      run: async (index, { random }) => {
        const depose = index % 2 === 0 ? cutOff : moveLeader;
        return { figures: await deposal({ trio, cluster, depose, mostAwayMs: MOST_AWAY_TTLS.etcd * TTL_MS }, random) };
      },
      [Symbol.asyncDispose]: async () => {
        await trio.stop();
        await cluster.stop();
      },
    };
  },
};
