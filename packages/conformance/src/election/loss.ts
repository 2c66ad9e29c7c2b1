/** How leadership is lost, and what follows. */

import assert from 'node:assert/strict';
import type { Entry } from '@incumbent/core';
import type { PausableClock } from '@incumbent/core/testing';
import { blindable, intercept } from '../intercept.ts';
import type { StoreCase } from '../case.ts';
import { endOf, enqueueForeign, leaderAndNext, NAME, type Arena, type TestMember } from './arena.ts';
import { electionCasesOf } from './define.ts';

const define = electionCasesOf('loss');
/**
 * How long two leaders may be valid at once if somebody ended a live lease: the delay of a watch,
 * in ms.
 */
const NOTICE_MS = 1_000;

/** The entries of a member in the queue, as a candidate reads them. */
async function entriesOf(arena: Arena, { store }: TestMember, memberId: string): Promise<readonly Entry[]> {
  const entries = await store.list(`elections/${NAME}/candidates`, { timeoutMs: arena.harness.timeoutMs });
  return entries.filter(({ name }) => name.startsWith(`${memberId}~`));
}

/** The only entry of a member that is in the queue. */
async function entryOf(arena: Arena, candidate: TestMember, memberId: string): Promise<Entry> {
  const [entry, ...others] = await entriesOf(arena, candidate, memberId);
  assert.ok(entry !== undefined && others.length === 0, `${memberId} has one entry`);
  return entry;
}

export const lossCases: readonly StoreCase[] = [
  define(
    'a leader that is cut off stops considering itself leader before the next one leads',
    async (arena) => {
      const { a, first, next } = await leaderAndNext(arena, await arena.faultyMember('a'));
      await a.faults.cut();
      const end = await endOf(arena, first, arena.ttlMs + arena.harness.slackMs);
      assert.deepEqual([end.reason, end.lost], ['deadline', true]);
      assert.ok(end.errors.length > 0, 'the end tells of the errors that led to it');
      assert.equal((await next).term, arena.term(2n));
      await a.faults.heal();
    },
    { faults: ['cut'] },
  ),

  define(
    'a claim whose answer comes after its deadline is told as no leadership, and the next one leads',
    async (arena) => {
      let isLate = false;
      const clocks: PausableClock[] = [];
      const store = intercept(await arena.open(), async ({ operation, keys }, go) => {
        const answer = await go();
        if (isLate || operation !== 'compareAndSwap' || !keys.some((key) => key.endsWith('/leader'))) return answer;
        isLate = true;
        // The process stops at the moment of the answer, and nobody renews its lease.
        for (const clock of clocks) clock.pause();
        await arena.sleep(arena.calmTtlMs);
        // The answer is processed before timers run.
        queueMicrotask(() => queueMicrotask(() => clocks.forEach((clock) => clock.resume())));
        return answer;
      });
      const candidate = arena.memberOn(store, 'a');
      clocks.push(candidate.clock);
      const leadership = await arena.campaign(candidate);
      assert.ok(isLate && leadership.isValid());
    },
    { calm: true },
  ),

  define(
    'lead takes leadership up again after the link is back, with a new term',
    async (arena) => {
      const a = await arena.faultyMember('a');
      const terms: bigint[] = [];
      const leading = a.member.election(NAME).lead(async (leadership) => {
        arena.record(leadership);
        terms.push(leadership.term);
        if (terms.length === 1) {
          await a.faults.cut();
          await leadership.ended;
          await a.faults.heal();
        }
      });
      await leading;
      assert.deepEqual(terms, [arena.term(1n), arena.term(2n)]);
    },
    { faults: ['cut'] },
  ),

  define(
    'a short outage of the link ends nothing',
    async (arena) => {
      const a = await arena.faultyMember('a');
      const leadership = await arena.campaign(a);
      const { ttlMs } = a.member.timing;
      await arena.sleep(ttlMs / 4);
      await a.faults.refuse();
      await arena.sleep(ttlMs / 4);
      await a.faults.heal();
      // Without a renewal after the outage, the lease would end meanwhile.
      await arena.sleep(ttlMs);
      assert.equal(leadership.isValid(), true);
    },
    { faults: ['refuse'], calm: true },
  ),

  define(
    'a paused leader is not valid past its deadline, not even in the first instant after waking',
    async (arena) => {
      const { a, first, next } = await leaderAndNext(arena, await arena.faultyMember('a'));
      a.clock.pause();
      await a.faults.stall();
      const second = await next;
      assert.equal(first.isValid(), false);
      a.clock.resume();
      await a.faults.heal();
      assert.equal(first.isValid(), false);
      assert.equal((await endOf(arena, first, arena.soonMs)).reason, 'deadline');
      assert.equal(second.isValid(), true);
    },
    { faults: ['stall'] },
  ),

  define(
    'a revoked lease ends leadership when its owner notices, and it leads again',
    async (arena) => {
      const a = await arena.member('a');
      const first = await arena.campaign(a);
      const member = await a.store.read('members/a', { timeoutMs: arena.harness.timeoutMs });
      assert.ok(member?.lease !== undefined);
      await arena.operator.expireLease(member.lease);
      const { reason } = await endOf(arena, first, arena.ttlMs);
      assert.ok(['recordDeleted', 'entryDeleted', 'leaseExpired'].includes(reason), reason);
      await first.released;
      assert.equal((await arena.campaign(a)).term, arena.term(2n));
    },
    { needs: ['operator'], history: { overlapMs: NOTICE_MS } },
  ),

  define(
    "the leader's deleted key is noticed; nobody leads before it has stopped; leadership is taken up again",
    async (arena) => {
      const { a, first, next } = await leaderAndNext(arena, await arena.member('a'));
      await arena.operator.deleteKey(`elections/${NAME}/leader`);
      assert.equal((await endOf(arena, first, arena.soonMs)).reason, 'recordDeleted');
      assert.equal((await next).term, arena.term(2n));
      const again = arena.campaign(a);
      await (await next).resign();
      assert.equal((await again).term, arena.term(3n));
    },
    { needs: ['operator'] },
  ),

  define(
    "a leader whose key is deleted while it is cut off is followed after its lease's end, and not before it has stopped",
    async (arena) => {
      const { a, first, next } = await leaderAndNext(arena, await arena.faultyMember('a'));
      await a.faults.cut();
      await arena.operator.deleteKey(`elections/${NAME}/leader`);
      assert.equal((await next).term, arena.term(2n));
      assert.equal(first.isValid(), false);
      assert.equal((await endOf(arena, first, arena.soonMs)).reason, 'deadline');
      await a.faults.heal();
    },
    { needs: ['operator'], faults: ['cut'] },
  ),

  define(
    'a member that has led leads in a higher term after the store has lost the last one',
    async (arena) => {
      const a = await arena.member('a');
      const first = await arena.campaign(a);
      await first.resign();
      await arena.operator.deleteKey(`elections/${NAME}/term`);
      assert.ok((await arena.campaign(a)).term > first.term);
    },
    { needs: ['operator'] },
  ),

  define(
    'a candidate that has waited leads in a higher term than a leader that is cut off, and whose keys the store has lost',
    async (arena) => {
      const { a, first, next } = await leaderAndNext(arena, await arena.faultyMember('a'));
      const entry = await entryOf(arena, await arena.member('c'), 'a');
      await a.faults.cut();
      for (const key of [`elections/${NAME}/term`, `elections/${NAME}/leader`, entry.key]) await arena.operator.deleteKey(key);
      assert.ok((await next).term > first.term);
      await a.faults.heal();
    },
    // The store no longer has the entry that bars a second leader.
    { needs: ['operator'], faults: ['cut'], history: { overlapMs: Infinity } },
  ),

  define(
    "the leader's deleted entry in the queue is noticed, and the next one follows",
    async (arena) => {
      const { a, first, next } = await leaderAndNext(arena, await arena.member('a'));
      await arena.operator.deleteKey((await entryOf(arena, a, 'a')).key);
      assert.equal((await endOf(arena, first, arena.soonMs)).reason, 'entryDeleted');
      assert.equal((await next).term, arena.term(2n));
    },
    { needs: ['operator'] },
  ),

  define(
    "a waiting candidate's deleted entry is noticed, and it joins again at the end",
    async (arena) => {
      const { a, first, next } = await leaderAndNext(arena, await arena.member('a'));
      const mine = await entryOf(arena, a, 'b');
      await arena.operator.deleteKey(mine.key);
      await arena.until(async () => (await entriesOf(arena, a, 'b')).some(({ name }) => name !== mine.name), 'it has joined again');
      await first.resign();
      assert.equal((await next).memberId, 'b');
    },
    { needs: ['operator'] },
  ),

  define('an entry that lives and that nobody campaigns with holds nobody up for longer than the claim timeout', async (arena) => {
    // A leader that knew its successor would hand over to the entry.
    const { store, blind } = blindable(await arena.open());
    const [a, b] = [arena.memberOn(store, 'a'), await arena.member('b')];
    const first = await arena.campaign(a);
    blind();
    const hung = await enqueueForeign(arena, { name: 'w~0~1~fifo~', value: '{"v":1}', ttlMs: 60_000 });
    const next = arena.campaign(b);
    await arena.queued(b);
    await first.resign();
    const from = arena.now();
    assert.equal((await next).memberId, 'b');
    const claimTimeoutMs = 1.5 * arena.ttlMs;
    const tookMs = arena.now() - from;
    assert.ok(tookMs <= claimTimeoutMs + arena.soonMs, `took ${tookMs} ms, the claim timeout is ${claimTimeoutMs} ms`);
    const names = (await b.store.list(`elections/${NAME}/candidates`, { timeoutMs: arena.harness.timeoutMs })).map(({ name }) => name);
    assert.ok(!names.includes('w~0~1~fifo~'), 'the entry is gone, and holds up nobody again');
    await hung.revokeLease();
  }),

  define(
    'a claim whose answer is lost is found again: elected once, with one term',
    async (arena) => {
      const b = await arena.faultyMember('b');
      const { first, next } = await leaderAndNext(arena, await arena.member('a'), b);
      await arena.sleep(arena.harness.slackMs / 4);
      // The next answer on this link belongs to a renewal, a read or the claim itself. The outcome
      // is the same for each.
      await b.faults.dropNextReply();
      await first.resign();
      const second = await next;
      assert.equal(second.memberId, 'b');
      assert.ok(second.term >= arena.term(2n) && second.term <= arena.term(3n), `term ${second.term}`);
      await b.faults.heal();
    },
    { faults: ['dropReply'] },
  ),
];
