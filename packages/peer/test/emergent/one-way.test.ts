/** Members that can send but not receive, or receive but not send. */

import { describe, expect, it } from 'vitest';
import { Cluster, type ClusterOptions } from './cluster.ts';

const IDS = ['a', 'b', 'c', 'd'];
const FAILURE_TIMEOUT_MS = 500;
const JOIN_ATTEMPTS = 8;
const CLUSTERS = 10;
/**
 * All are together again by then. With these options a search takes place every failure timeout.
 */
const BOUND_MS = 4 * FAILURE_TIMEOUT_MS;

/** A removed member makes its attempts to join within four failure timeouts. */
const lengths = [
  ['shorter', 3 * FAILURE_TIMEOUT_MS],
  ['longer', 12 * FAILURE_TIMEOUT_MS],
] as const;

type IsLost = (from: string, to: string) => boolean;

const losses: readonly (readonly [name: string, isLost: IsLost])[] = [
  ['the coordinator receives nothing', (_, to) => to === 'a'],
  ['the coordinator sends nothing', (from) => from === 'a'],
  ['another member receives nothing', (_, to) => to === 'c'],
  ['another member sends nothing', (from) => from === 'c'],
  ['the coordinator does not receive from one member', (from, to) => from === 'c' && to === 'a'],
  ['one member does not receive from the coordinator', (from, to) => from === 'a' && to === 'c'],
];

/** Four members, the first of which coordinates, until this loss has lasted for so long. */
async function lossy(isLost: IsLost, lossMs: number, options: ClusterOptions): Promise<Cluster> {
  const cluster = new Cluster({ joinAttempts: JOIN_ATTEMPTS, ...options });
  for (const id of IDS) {
    cluster.start(id);
    await cluster.pass(400);
  }
  cluster.isLost = isLost;
  await cluster.pass(lossMs);
  return cluster;
}

/**
 * What is wrong with the members. Undefined: all are in one list, only its coordinator leads, and
 * no member has given up.
 */
function problemOf(cluster: Cluster): string | undefined {
  const errors = IDS.flatMap((id) => cluster.of(id).error ?? []);
  const { members = [], coordinator } = cluster.membership('a') ?? {};
  const isWhole = !cluster.list().includes('|') && members.length === IDS.length;
  if (isWhole && cluster.leaders === coordinator && errors.length === 0) return undefined;
  return `${cluster.list()}, led by ${cluster.leaders}, ${errors.join(' ')}`;
}

describe.each([
  ['one seed', ['a']],
  ['two seeds', ['a', 'b']],
])('a cluster with %s', (_, seeds) => {
  describe.each(losses)('of which %s', (__, isLost) => {
    it.each(lengths)('for %s than the attempts to join last is whole again soon after', async (___, lossMs) => {
      const problems: string[] = [];
      for (let chance = 1; chance <= CLUSTERS; chance += 1) {
        await using cluster = await lossy(isLost, lossMs, { seeds, chance });
        cluster.heal();
        await cluster.pass(BOUND_MS);
        const problem = problemOf(cluster);
        if (problem !== undefined) problems.push(problem);
      }
      expect(problems).toEqual([]);
    });
  });
});

describe('members that their coordinator has removed and still probes', () => {
  const isDeaf: IsLost = (_, to) => to === 'a';

  it('found a cluster of their own after their last attempt to join, although the coordinator does not receive their requests', async () => {
    await using cluster = await lossy(isDeaf, 12 * FAILURE_TIMEOUT_MS, {});
    expect(cluster.membership('a')?.members).toHaveLength(1);
    expect(cluster.list('b', 'c', 'd').split(' ').toSorted()).toEqual(['b', 'c', 'd']);
    expect(cluster.leaders.split(' ')).toHaveLength(2);
  });

  it('have a leader with `majority` if they are one, because their coordinator does not lead', async () => {
    await using cluster = await lossy(isDeaf, 12 * FAILURE_TIMEOUT_MS, { majority: true });
    expect(cluster.leaders).toBe(cluster.membership('b')?.coordinator);
    expect(cluster.membership('a')?.isEnough).toBe(false);
  });

  it('have no leader with `majority` if they are a minority', async () => {
    const isOneUnheard: IsLost = (from, to) => from === 'c' && to === 'a';
    await using cluster = await lossy(isOneUnheard, 12 * FAILURE_TIMEOUT_MS, { majority: true });
    expect(cluster.list('c')).toBe('c');
    expect(cluster.membership('c')?.isEnough).toBe(false);
    expect(cluster.leaders).toBe('a');
  });
});
