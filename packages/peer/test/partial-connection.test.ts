/** Groups in which two members cannot reach each other, while both reach all others. */

import { seeded } from '@incumbent/core/testing';
import { describe, expect, it } from 'vitest';
import { names, type Name } from './best-effort/algorithms.ts';
import { Group } from './best-effort/group.ts';
import { Arena, FIVE } from './scenarios/arena.ts';

const THREE: readonly string[] = ['a', 'b', 'c'];
/** Five times the longest election timeout. */
const LATER_MS = 10_000;

/** The best-effort algorithms that elect a second leader when one member cannot reach the first. */
const SPLITTING: ReadonlySet<Name> = new Set(['bully', 'nextInLine', 'invitation']);

describe.each([
  ['three', THREE],
  ['five', FIVE],
])('quorum, among %s of which two cannot reach one another', (_name, ids) => {
  it('elects one leader, which stays leader, whichever two they are', async () => {
    for (const [i, one] of ids.entries())
      for (const other of ids.slice(i + 1)) {
        await using arena = new Arena(ids);
        arena.between(one, other);
        const leader = await arena.begin().leader();
        await arena.pass(LATER_MS);
        expect([leader.isValid(), arena.led.length]).toEqual([true, 1]);
        // All see it but the one that it cannot reach, which knows of no leader, and does not raise
        // the term.
        const unreached = [one, other].filter((id) => id !== leader.memberId && [one, other].includes(leader.memberId));
        for (const id of ids) expect(arena.sees(id), id).toBe(unreached.includes(id) ? undefined : leader.memberId);
        for (const id of unreached) expect([undefined, 0n, leader.term], id).toContain(arena.of(id).highestTerm);
      }
  });

  it('keeps the current leader, whether it is one of the two or not', async () => {
    for (const isOneOfThem of [true, false]) {
      await using arena = new Arena(ids);
      const leader = await arena.begin().leader();
      await arena.pass(500);
      const [first = '', second = ''] = ids.filter((id) => id !== leader.memberId);
      arena.between(isOneOfThem ? leader.memberId : second, first);
      await arena.pass(LATER_MS);
      expect([leader.isValid(), arena.led.length]).toEqual([true, 1]);
      expect(arena.sees(first)).toBe(isOneOfThem ? undefined : leader.memberId);
      arena.network.heal();
      await arena.pass(5_000);
      expect([leader.isValid(), arena.led.length]).toEqual([true, 1]);
      expect(new Set(ids.map((id) => arena.sees(id)))).toEqual(new Set([leader.memberId]));
    }
  });

  it('replaces a crashed leader by a member that still reaches a majority', async () => {
    await using arena = new Arena(ids);
    const leader = await arena.begin().leader();
    await arena.pass(500);
    const [first = '', second = '', third] = ids.filter((id) => id !== leader.memberId);
    // Of three, one of the two is the leader that goes: any other two would be no majority without
    // one another.
    arena.between(first, third === undefined ? leader.memberId : second);
    await arena.pass(500);
    await arena.clock.run(arena.of(leader.memberId).close());
    const next = await arena.leader();
    expect(next.term).toBeGreaterThan(leader.term);
    await arena.pass(LATER_MS);
    expect([next.isValid(), arena.led.length]).toEqual([true, 2]);
  });

  it('has no leader while no member reaches a majority, and elects one as soon as a member does', async () => {
    await using arena = new Arena(ids);
    for (const one of ids) for (const other of ids) if (one < other) arena.between(one, other);
    arena.begin();
    await arena.pass(LATER_MS);
    expect(arena.led).toEqual([]);
    arena.network.heal();
    const [first = '', second = ''] = ids;
    arena.between(first, second);
    expect((await arena.leader()).term).toBeGreaterThan(0n);
  });
});

describe.each(['highest-rank', 'first-asked'] as const)('quorum with %s, among five of which two are down', (tieBreak) => {
  it('elects the only member that reaches a majority, whichever it is', async () => {
    for (const [i, one] of FIVE.entries())
      for (const other of FIVE.slice(i + 1))
        for (const hub of FIVE.filter((id) => id !== one && id !== other)) {
          await using arena = new Arena(FIVE, { tieBreak });
          arena.between(one, other);
          for (const id of [one, other, hub]) arena.lead(arena.member(id));
          const leader = await arena.leader();
          expect(leader.memberId, `${one} and ${other} do not reach one another`).toBe(hub);
          await arena.pass(LATER_MS);
          expect([leader.isValid(), arena.led.length]).toEqual([true, 1]);
        }
  });
});

describe('quorum with highest-rank, among five of which two are down', () => {
  it('elects the best of three members that need one another, also after all three were cut off', async () => {
    await using arena = new Arena(FIVE, { tieBreak: 'highest-rank' });
    for (const id of THREE) arena.network.isolate(id);
    for (const id of THREE) arena.lead(arena.member(id));
    await arena.pass(LATER_MS);
    expect(arena.led).toEqual([]);
    arena.network.heal();
    expect((await arena.leader()).memberId).toBe('a');
  });
});

describe('quorum with highest-rank, among five that start one after the other', () => {
  it('elects the best member, which has polled without a majority before', async () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      await using arena = new Arena(FIVE, { tieBreak: 'highest-rank' });
      const start = (id: string): void => arena.lead(arena.member(id, { random: seeded(100 * seed + id.charCodeAt(0)) }));
      start('a');
      start('b');
      await arena.pass(LATER_MS);
      start('c');
      expect((await arena.leader()).memberId).toBe('a');
    }
  });
});

describe.each(names)('%s, among three of which two cannot reach one another', (name) => {
  it('keeps a leader that reaches both others, and all see it', async () => {
    await using group = new Group(name, THREE).lead(...THREE);
    await group.clock.advance(6_000);
    const [leader = ''] = group.leaders;
    const [one = '', other = ''] = THREE.filter((id) => id !== leader);
    group.network.cut(one, other);
    group.network.cut(other, one);
    await group.clock.advance(30_000);
    expect([group.leaders, group.views]).toEqual([[leader], [leader, leader, leader]]);
  });

  it(`has ${SPLITTING.has(name) ? 'two leaders' : 'one leader'} while a member does not reach the leader, and one after the heal`, async () => {
    await using group = new Group(name, THREE).lead(...THREE);
    await group.clock.advance(6_000);
    const [leader = ''] = group.leaders;
    const unreached = THREE.find((id) => id !== leader) ?? '';
    group.network.cut(leader, unreached);
    group.network.cut(unreached, leader);
    await group.clock.advance(30_000);
    expect(group.leaders).toEqual(SPLITTING.has(name) ? [leader, unreached] : [leader]);
    group.network.heal();
    await group.clock.advance(6_000);
    expect([group.leaders, group.views]).toEqual([[leader], [leader, leader, leader]]);
  });
});
