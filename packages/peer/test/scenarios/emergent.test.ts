/**
 * Scenarios of open memberships from the test suites of Hazelcast, Akka and JGroups, under the ids
 * of docs/scenarios.md.
 */

import { describe, expect, it } from 'vitest';
import { Cluster, together } from '../emergent/cluster.ts';

const SOON_MS = 2_000;

describe('as Hazelcast has it', () => {
  it.each([
    ['the master shuts down', 'a', false, 'b c'],
    ['the master crashes', 'a', true, 'b c'],
    ['a slave shuts down', 'b', false, 'a c'],
    ['a slave crashes', 'b', true, 'a c'],
  ])('E01 %s: the others agree on the oldest of them', async (_, gone, isCrash, left) => {
    await using cluster = await together(['a', 'b', 'c']);
    expect([cluster.list(), cluster.leaders]).toEqual(['a b c', 'a']);
    if (isCrash) cluster.crash(gone);
    else await cluster.leave(gone);
    await cluster.pass(isCrash ? SOON_MS : 100);
    expect([cluster.list(), cluster.leaders]).toEqual([left, left[0]]);
  });

  it.each([0, 350, SOON_MS])('E02 the master crashes, and the next one %i ms after: the third takes over', async (afterMs) => {
    await using cluster = await together(['a', 'b', 'c', 'd']);
    cluster.crash('a');
    await cluster.pass(afterMs);
    cluster.crash('b');
    await cluster.pass(SOON_MS);
    expect([cluster.list(), cluster.leaders]).toEqual(['c d', 'c']);
  });

  it('E04 of a claim by the younger, who alone misses the master, and the elder: it is refused, and nothing changes for the others', async () => {
    await using cluster = await together(['a', 'b', 'c', 'd']);
    // a and b no longer receive each other's messages; c and d receive those of both.
    cluster.isLost = (from, to) => (from === 'a' && to === 'b') || (from === 'b' && to === 'a');
    await cluster.pass(SOON_MS);
    expect(cluster.leaders).toBe('a');
    expect(cluster.list('a', 'c', 'd')).toBe('a c d');
    expect(cluster.of('b').ends).toEqual([]);
    cluster.heal();
    await cluster.pass(SOON_MS);
    expect([cluster.list(), cluster.leaders]).toEqual(['a c d b', 'a']);
  });

  it('E05 whoever takes over has the newest list first: it has missed that others joined', async () => {
    await using cluster = await together(['a', 'b', 'c']);
    // b receives no update, and the heartbeats with the newer version are lost too.
    cluster.isLost = (from, to, { type }) => to === 'b' && (type === 'update' || (type === 'heartbeat' && from !== 'a' && from !== 'c'));
    cluster.start('d');
    cluster.start('e');
    await cluster.pass(450);
    expect(cluster.list('b')).toBe('a b c');
    cluster.crash('a');
    cluster.heal();
    await cluster.pass(SOON_MS);
    expect([cluster.list(), cluster.leaders]).toEqual(['b c d e', 'b']);
  });

  it.each([
    ['E06 a slave that was cut off comes back, as the youngest', 'b', ['a', 'c']],
    ['E09 two and one part and are one again; the larger side keeps its leader', 'a', ['b', 'c']],
  ])('%s', async (_, one, others) => {
    await using cluster = await together(['a', 'b', 'c']);
    cluster.split([one], others);
    await cluster.pass(SOON_MS);
    expect([cluster.list(...others), cluster.list(one), cluster.leaders]).toEqual([others.join(' '), one, 'a b']);
    cluster.heal();
    await cluster.pass(SOON_MS);
    expect([cluster.list(), cluster.leaders, cluster.of(one).ends]).toEqual([[...others, one].join(' '), others[0], ['merged']]);
  });

  it('E08 members start and end at once, again and again: after each round all have one list', async () => {
    await using cluster = new Cluster({ seeds: ['a', 'b'] });
    cluster.start('a');
    for (const round of [1, 2, 3, 4]) {
      const ids = ['b', 'c', 'd', 'e', 'f'].slice(0, 1 + round);
      for (const id of ids) cluster.start(id);
      await cluster.pass(SOON_MS);
      expect(cluster.list().split(' ').toSorted()).toEqual(['a', ...ids]);
      cluster.crash(...ids.filter((_, i) => i % 2 === 0));
      await cluster.leave(...ids.filter((_, i) => i % 2 === 1));
      await cluster.pass(SOON_MS);
      expect([cluster.list(), cluster.leaders]).toEqual(['a', 'a']);
    }
  });

  it('E10 clusters of different names do not merge', async () => {
    await using cluster = new Cluster({ seeds: ['a', 'c'] });
    for (const id of ['a', 'b']) cluster.start(id, { cluster: 'one' });
    for (const id of ['c', 'd']) cluster.start(id, { cluster: 'two' });
    await cluster.pass(10_000);
    expect([cluster.list('a', 'b'), cluster.list('c', 'd'), cluster.leaders]).toEqual(['a b', 'c d', 'a c']);
    expect(cluster.of('a').member.refused.configuration).toBeGreaterThan(0);
  });

  describe.each([60, 30, -60, -30])('E12 wall clocks %i minutes off', (minutes) => {
    it.each(['a', 'b'])('from the start, of %s, change nothing', async (id) => {
      await using cluster = new Cluster();
      for (const each of ['a', 'b', 'c']) {
        const { clock } = cluster.start(each);
        if (each === id) clock.offMs = minutes * 60_000;
        await cluster.pass(400);
      }
      await cluster.pass(10_000);
      expect([cluster.list(), cluster.leaders, cluster.membership('c')?.version]).toEqual(['a b c', 'a', 3]);
    });

    it('by a jump, of a member, change nothing', async () => {
      await using cluster = await together(['a', 'b', 'c']);
      const before = cluster.membership('c');
      cluster.of('b').clock.offMs = minutes * 60_000;
      await cluster.pass(5_000);
      expect([cluster.membership('c'), cluster.leaders]).toEqual([before, 'a']);
    });

    it('by a jump, of the coordinator, change nobody: it leads on, or again where it may have slept', async () => {
      await using cluster = await together(['a', 'b', 'c']);
      const before = cluster.membership('c');
      cluster.of('a').clock.offMs = minutes * 60_000;
      // Ask at once: after a step forward, the process may have slept.
      expect(cluster.leaders).toBe(minutes > 0 ? '' : 'a');
      await cluster.pass(5_000);
      expect([cluster.membership('c')?.members, cluster.leaders]).toEqual([before?.members, 'a']);
      expect(cluster.of('a').ends).toEqual(minutes > 0 ? ['clockJump'] : []);
    });
  });
});

describe('as Akka has it', () => {
  it.each([
    'a b c | d e => a',
    'a b | c d e => c',
    'a b | c d => a',
    'a d | b c => a',
    'b c d | a e => b',
    'a | b => a',
    'b c | a => b',
    'a b c d e | f => a',
  ])('E13 keep majority: the sides of a split => the leader afterwards: %s', async (row) => {
    const [split = '', leader = ''] = row.split(' => ');
    const sides = split.split(' | ').map((side) => side.split(' '));
    await using cluster = await together(sides.flat().toSorted(), { majority: true });
    cluster.split(...sides);
    await cluster.pass(SOON_MS);
    expect(cluster.leaders).toBe(leader);
    for (const side of sides) expect(cluster.membership(side[0]!)?.isEnough).toBe(side.includes(leader));
    cluster.heal();
    await cluster.pass(2 * SOON_MS);
    expect([cluster.list().split(' ').length, cluster.leaders.split(' ').length]).toEqual([sides.flat().length, 1]);
  });

  it.each([
    [3, 'a b c', 'd e', 'a'],
    [3, 'a b', 'c d e', 'c'],
    [4, 'a b c', 'd e', ''],
    [2, 'a b', 'c d e', 'a c'],
  ])('E13 a static number of %i: {%s} | {%s} => "%s"', async (minimumSize, one, other, leaders) => {
    const sides = [one, other].map((side) => side.split(' '));
    await using cluster = await together(sides.flat().toSorted(), { minimumSize });
    cluster.split(...sides);
    await cluster.pass(SOON_MS);
    expect(cluster.leaders).toBe(leaders);
    if (!leaders.includes('a')) {
      expect(cluster.of('a').ends).toEqual(['notEnoughMembers']);
      expect(() => cluster.of('a').member.assertEnoughMembers()).toThrow(expect.objectContaining({ code: 'NOT_ENOUGH_MEMBERS' }));
    } else cluster.of('a').member.assertEnoughMembers();
  });

  it('E13 with a majority those who leave do not count, and of two the oldest goes on', async () => {
    await using cluster = await together(['a', 'b', 'c', 'd', 'e'], { majority: true });
    await cluster.leave('d', 'e');
    await cluster.pass(200);
    cluster.crash('b');
    await cluster.pass(SOON_MS);
    // Two of three.
    expect([cluster.list(), cluster.leaders]).toEqual(['a c', 'a']);
    cluster.split(['a'], ['c']);
    await cluster.pass(SOON_MS);
    expect(cluster.leaders).toBe('a');
    cluster.heal();
    await cluster.pass(SOON_MS);
    expect([cluster.list(), cluster.leaders]).toEqual(['a c', 'a']);
  });

  it.each([1, 2, 3])('E17 the oldest %i crash: the next one leads, and it alone', async (count) => {
    const ids = ['a', 'b', 'c', 'd', 'e'];
    await using cluster = await together(ids);
    cluster.crash(...ids.slice(0, count));
    await cluster.pass(SOON_MS);
    expect([cluster.list(), cluster.leaders]).toEqual([ids.slice(count).join(' '), ids[count]]);
  });

  it('E17 the oldest leaves: the next one leads within a few messages', async () => {
    await using cluster = await together(['a', 'b', 'c']);
    await cluster.leave('a');
    await cluster.pass(10);
    expect([cluster.list(), cluster.leaders]).toEqual(['b c', 'b']);
  });
});

describe('as JGroups has it', () => {
  it('E19 a split in the middle becomes one', async () => {
    await using cluster = await together(['a', 'b', 'c', 'd']);
    cluster.split(['a', 'b'], ['c', 'd']);
    await cluster.pass(SOON_MS);
    expect([cluster.list('a', 'b'), cluster.list('c', 'd'), cluster.leaders]).toEqual(['a b', 'c d', 'a c']);
    cluster.heal();
    await cluster.pass(SOON_MS);
    // Of two sides of equal size, the side whose coordinator has the lower id stays.
    expect([cluster.list().split(' ').slice(0, 2), cluster.leaders]).toEqual([['a', 'b'], 'a']);
  });

  it('E19 ten members in four parts become one', async () => {
    const ids = 'a b c d e f g h i j'.split(' ');
    await using cluster = await together(ids);
    cluster.split(['a', 'b', 'c'], ['d', 'e', 'f', 'g'], ['h', 'i'], ['j']);
    await cluster.pass(SOON_MS);
    expect(cluster.leaders).toBe('a d h j');
    cluster.heal();
    await cluster.pass(2 * SOON_MS);
    expect([cluster.list().split(' ').toSorted(), cluster.leaders]).toEqual([ids, 'd']);
  });

  it('E21 members that disagree about who is there come to one list', async () => {
    await using cluster = await together(['a', 'b', 'c']);
    // a suspects b and c, because it receives nothing from them. Both still follow it.
    cluster.isLost = (_, to) => to === 'a';
    await cluster.pass(900);
    expect(cluster.list('a')).toBe('a');
    cluster.heal();
    await cluster.pass(SOON_MS);
    expect([cluster.list().split(' ').toSorted().join(' '), cluster.leaders.length]).toEqual(['a b c', 1]);
  });

  it.each([['a b'], ['a b c d'], ['c d e f'], ['a d e f'], ['b c d e f']])(
    'E22 %s leave at once: whoever is left agrees',
    async (leaving) => {
      const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
      await using cluster = await together(ids);
      const gone = leaving.split(' ');
      await cluster.leave(...gone);
      await cluster.pass(SOON_MS);
      const left = ids.filter((id) => !gone.includes(id));
      expect([cluster.list(), cluster.leaders]).toEqual([left.join(' '), left[0]]);
    },
  );

  it('E23 a part without a coordinator finds one, and the others, again', async () => {
    await using cluster = await together(['a', 'b', 'c', 'd', 'e']);
    cluster.split(['a'], ['b'], ['c', 'd', 'e']);
    cluster.crash('a', 'b');
    await cluster.pass(100);
    cluster.heal();
    await cluster.pass(SOON_MS);
    expect([cluster.list(), cluster.leaders]).toEqual(['c d e', 'c']);
  });
});
