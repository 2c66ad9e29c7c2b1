import { seeded } from '@incumbent/core/testing';
import { describe, expect, it } from 'vitest';

import { assignPartitions, type PartitionMember } from '../src/partitions/assignment.ts';

const random = seeded(7);

function membersOf(count: number, partitions: number): PartitionMember[] {
  return Array.from({ length: count }, () => ({ memberId: `pod-${random.u32()}`, partitions }));
}

/** How many partitions each member leads, the fewest first. */
function countsOf(members: readonly PartitionMember[]): readonly number[] {
  const preferred = assignPartitions('orders', members).map((candidates) => candidates.preferred);
  return members.map(({ memberId }) => preferred.filter((id) => id === memberId).length).toSorted((a, b) => a - b);
}

/** How many partitions change hands from one list of members to the other. */
function movesBetween(before: readonly PartitionMember[], after: readonly PartitionMember[]): number {
  const next = assignPartitions('orders', after);
  return assignPartitions('orders', before).filter(({ preferred }, partition) => preferred !== next[partition]?.preferred).length;
}

describe('the assignment of partitions', () => {
  it.each([
    [12, 1, [12]],
    [12, 3, [4, 4, 4]],
    [12, 5, [2, 2, 2, 3, 3]],
    [3, 5, [0, 0, 1, 1, 1]],
  ])('divides %s partitions evenly among %s members', (partitions, count, counts) => {
    for (let i = 0; i < 20; i += 1) expect(countsOf(membersOf(count, partitions))).toEqual(counts);
  });

  it('does not depend on the order of the members', () => {
    const members = membersOf(7, 64);
    expect(assignPartitions('orders', members.toReversed())).toEqual(assignPartitions('orders', members));
  });

  it('has another member as the successor of each partition, if there is one', () => {
    for (const { preferred, successor } of assignPartitions('orders', membersOf(3, 12))) {
      expect(successor).toBeDefined();
      expect(successor).not.toBe(preferred);
    }
    expect(assignPartitions('orders', membersOf(1, 2)).map(({ successor }) => successor)).toEqual([undefined, undefined]);
  });

  it.each([
    [12, 3],
    [64, 10],
    [1_000, 20],
  ])('of %s partitions moves at most twice as many as it must in the mean when one of %s members joins', (partitions, count) => {
    const rounds = 20;
    let moves = 0;
    for (let i = 0; i < rounds; i += 1) {
      const members = membersOf(count, partitions);
      moves += movesBetween(members.slice(1), members);
    }
    expect(moves / rounds).toBeLessThan((2 * partitions) / count);
  });

  it('gives a partition only to members that know it', () => {
    const members = [...membersOf(2, 8), ...membersOf(3, 12)];
    const assigned = assignPartitions('orders', members);
    expect(assigned).toHaveLength(12);
    const able = new Set(members.slice(2).map(({ memberId }) => memberId));
    for (const { preferred, successor } of assigned.slice(8)) {
      expect(able.has(preferred)).toBe(true);
      expect(able.has(successor ?? '')).toBe(true);
    }
  });
});
