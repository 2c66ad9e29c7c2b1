/** Servers of one etcd of which one hears another, and is not heard. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEtcdCluster, until, type EtcdCluster } from '@incumbent/test-support';
import { now } from '../history.ts';
import type { Check, Figures } from './check.ts';
import { Trio } from './outages.ts';
import { freshNamespace, WAIT_MS, storeUrl, TTL_MS } from './pair.ts';

/** While a link is cut, and after it was healed, somebody leads again within this time. */
const SILENCE_MS = TTL_MS + 5_000;
/**
 * And within this time after the leader was killed: etcd starts every lease anew when it changes
 * its Raft leader.
 */
const SUCCESSION_MS = TTL_MS + SILENCE_MS;
/** Several election timeouts: by then the servers have noticed what they will notice. */
const SETTLING_MS = 5_000;

type Link = readonly [from: number, to: number];

interface Shape {
  /** Which words are lost, where the server at `leader` leads the others. */
  readonly links: (leader: number, others: readonly [number, number]) => readonly Link[];
  /** Whether another server must come to lead, which shows that the words are lost. */
  readonly unseats: boolean;
}

const SHAPES: readonly Shape[] = [
  // A follower does not hear the Raft leader, which hears the follower.
  { links: (leader, [one]) => [[leader, one]], unseats: false },
  // The Raft leader does not hear one follower, which hears the Raft leader.
  { links: (leader, [one]) => [[one, leader]], unseats: false },
  // The Raft leader hears everybody, and nobody hears the Raft leader.
  { links: (leader, others) => others.map((other) => [leader, other]), unseats: true },
  // The Raft leader hears nobody, and everybody hears the Raft leader.
  { links: (leader, others) => others.map((other) => [other, leader]), unseats: true },
];

async function cut(trio: Trio, cluster: EtcdCluster, shape: Shape, random: () => number): Promise<Figures> {
  await trio.start();
  const before = await trio.leads(now(), 'a leader before the cut');
  const leader = await cluster.leader();
  const cutAt = now();
  for (const [from, to] of shape.links(leader, [(leader + 1) % 3, (leader + 2) % 3])) cluster.cutOneWay(from, to);
  await sleep(SETTLING_MS + random() * 1_000);
  const during = await trio.leads(now(), 'a leader during the cut');
  const silentMs = trio.longestSilence(cutAt, during.at);
  assert.ok(silentMs <= SILENCE_MS, `nobody led for ${silentMs} ms`);
  if (shape.unseats) await until(async () => (await cluster.leader()) !== leader, { what: 'another server to lead', withinMs: WAIT_MS });
  const unseated = Number((await cluster.leader()) !== leader);
  await trio.killLeader();
  const killedAt = now();
  const next = await trio.leads(killedAt, 'a leader during the cut, after the last one was killed');
  assert.ok(next.at - killedAt <= SUCCESSION_MS, `nobody led for ${next.at - killedAt} ms after the leader was killed`);
  assert.ok(during.term >= before.term && next.term > during.term, 'terms rise');
  await cluster.heal();
  const healedAt = now();
  await sleep(SETTLING_MS);
  const healed = await trio.leads(now(), 'a leader after the cut was healed');
  const silentAfterMs = trio.longestSilence(healedAt, healed.at);
  assert.ok(silentAfterMs <= SILENCE_MS, `nobody led for ${silentAfterMs} ms after the cut was healed`);
  trio.check();
  return { silentMs, unseated, nextMs: next.at - killedAt, silentAfterMs };
}

export const etcdOneWayCut: Check = {
  name: 'raft-one-way-cut',
  claim:
    'When links between three etcd servers pass words in one direction only, at most one member leads at any time, somebody leads again within ' +
    `ttl + ${(SILENCE_MS - TTL_MS) / 1_000} s, or a ttl later where the leader was killed, and terms rise.`,
  method:
    `Three processes, ttl ${TTL_MS} ms, stay for all runs and know all servers, whose peers speak through proxies. In turn: a follower does not hear the Raft leader; the Raft leader does not hear a ` +
    'follower; nobody hears the Raft leader; the Raft leader hears nobody. silent: the longest time in the 5 s after the cut between two answers of isValid() that were true (asked every 5 ms), of any process; unseated: 1 if ' +
    'another server came to lead the servers. Then the leader of the election is killed, and next: until another says that it leads. silentAfter: as silent, in the 5 s after the heal.',
  runs: 8,
  parallel: 1,
  open: async () => {
    const cluster = await startEtcdCluster({ size: 3, gated: true });
    const trio = new Trio([storeUrl(cluster.endpoints, freshNamespace())]);
    return {
      run: async (index, { random }) => {
        const shape = SHAPES[index % SHAPES.length];
        assert.ok(shape !== undefined);
        try {
          return { figures: await cut(trio, cluster, shape, random) };
        } finally {
          await cluster.heal();
        }
      },
      [Symbol.asyncDispose]: async () => {
        await trio.stop();
        await cluster.stop();
      },
    };
  },
};
