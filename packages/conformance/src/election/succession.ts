/** The order of succession. */

import assert from 'node:assert/strict';
import { byMemberId, byPriority, byVersion, firstComeFirstServed, isIncumbentError, rendezvous, type Succession } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { begun } from '../time.ts';
import { NAME, type Arena, type TestMember } from './arena.ts';
import { electionCasesOf } from './define.ts';

/** Calm: the order holds while nobody loses a lease and joins again. */
const define = electionCasesOf('succession', true);

/** Lets all join in the given order while the first one leads. Then each leads in turn. */
async function orderOf(arena: Arena, ids: readonly string[], successionOf: (id: string) => Succession): Promise<readonly string[]> {
  const chair = await arena.member('chair');
  const first = await arena.campaign(chair, { succession: successionOf('chair') });
  const order: string[] = [];
  const turns: Promise<void>[] = [];
  for (const id of ids) {
    const candidate: TestMember = await arena.member(id);
    turns.push(
      begun(
        arena.campaign(candidate, { succession: successionOf(id) }).then(async (leadership) => {
          order.push(id);
          await leadership.resign();
        }),
      ),
    );
    await arena.queued(chair, id);
  }
  await first.resign();
  await Promise.all(turns);
  return order;
}

export const successionCases: readonly StoreCase[] = [
  define('by priority: the highest first, among equals who joined first', async (arena) => {
    const priorities = new Map([
      ['a', 1],
      ['b', 9],
      ['c', -3],
      ['d', 9],
    ]);
    const order = await orderOf(arena, ['a', 'b', 'c', 'd'], (id) => byPriority(priorities.get(id) ?? 100));
    assert.deepEqual(order, ['b', 'd', 'a', 'c']);
  }),

  define('by version: the newest first, among equals who joined first', async (arena) => {
    const versions = new Map([
      ['a', '1.9.0'],
      ['b', '1.10.0'],
      ['c', '1.10.0-rc.1'],
      ['d', '1.10.0+5'],
    ]);
    const order = await orderOf(arena, ['a', 'b', 'c', 'd'], (id) => byVersion(versions.get(id) ?? '9.0.0', 'newest'));
    assert.deepEqual(order, ['b', 'd', 'c', 'a']);
  }),

  define('by member id: in the order of the comparison', async (arena) => {
    const reversed = byMemberId('reversed', (a, b) => (a < b ? 1 : Number(a !== b) * -1));
    assert.deepEqual(await orderOf(arena, ['b', 'c', 'a'], () => reversed), ['c', 'b', 'a']);
  }),

  define('by rendezvous: the same order whoever joined first', async (arena) => {
    const order = await orderOf(arena, ['a', 'b', 'c'], () => rendezvous());
    const { rank } = rendezvous();
    const weights = ['a', 'b', 'c'].toSorted((x, y) => (weightOf(x) > weightOf(y) ? -1 : 1));
    assert.deepEqual(order, weights);

    function weightOf(memberId: string): string {
      return rank({ election: NAME, memberId });
    }
  }),

  define('a leader that is not the preferred one hands over, where the succession rebalances', async (arena) => {
    const options = { rebalanceEveryMs: 100 };
    const [low, high] = [await arena.member('low', options), await arena.member('high', options)];
    const first = await arena.campaign(low, { succession: byPriority(1, { rebalance: true }) });
    const second = await arena.campaign(high, { succession: byPriority(2, { rebalance: true }) });
    assert.equal((await first.ended).reason, 'handover');
    assert.deepEqual([second.memberId, second.term], ['high', arena.term(2n)]);
  }),

  define('a candidate with another succession is refused, and leaves no entry', async (arena) => {
    const [a, b] = [await arena.member('a'), await arena.member('b')];
    await arena.campaign(a, { succession: firstComeFirstServed() });
    const wrong = b.member.election(NAME, { succession: byPriority(1) }).campaign();
    await assert.rejects(wrong, (error) => isIncumbentError(error, 'SUCCESSION_MISMATCH'));
    await arena.until(async () => (await a.member.election(NAME).candidates()).length === 1, 'only the leader is in the queue');
  }),
];
