/** Leaders that follow one another. */

import assert from 'node:assert/strict';
import { isIncumbentError, type Leadership } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { times } from '../combinations.ts';
import { begun } from '../time.ts';
import { endOf, leaderAndTwo, NAME, type Arena, type TestMember } from './arena.ts';
import { electionCasesOf } from './define.ts';

// Leaders follow one another in order as long as nobody loses a lease and joins again.
const define = electionCasesOf('election', true);

/** Campaigns with all candidates at once. Each leader resigns at once, until all have led. */
async function everyoneInTurn(arena: Arena, candidates: readonly TestMember[]): Promise<readonly Leadership[]> {
  const turns: Leadership[] = [];
  await Promise.all(
    candidates.map(async (candidate) => {
      const leadership = await arena.campaign(candidate);
      turns.push(leadership);
      await leadership.resign();
    }),
  );
  return turns;
}

export const leadCases: readonly StoreCase[] = [
  define('a lone candidate is elected with the first term, and is valid', async (arena) => {
    const leadership = await arena.campaign(await arena.member('a'));
    assert.equal(leadership.term, arena.term(1n));
    assert.equal(leadership.isValid(), true);
    assert.equal(leadership.state, 'valid');
    assert.ok(leadership.remainingMs() > 0 && leadership.remainingMs() <= arena.calmTtlMs);
  }),

  define('of many candidates one leads at a time, all get their turn, and terms follow one another without a gap', async (arena) => {
    const candidates = await Promise.all(times(8).map((i) => arena.member(`m${i}`)));
    const turns = await everyoneInTurn(arena, candidates);
    assert.deepEqual(
      turns.map(({ term }) => term),
      times(8).map((i) => arena.term(BigInt(i + 1))),
    );
    assert.equal(new Set(turns.map(({ memberId }) => memberId)).size, 8);
  }),

  define('leadership passes in the order of joining', async (arena) => {
    const others = [await arena.member('b'), await arena.member('c')];
    const order: string[] = [];
    const turns: Promise<void>[] = [];
    const first = await arena.campaign(await arena.member('a'));
    for (const candidate of others) {
      turns.push(
        begun(
          arena.campaign(candidate).then(async (leadership) => {
            order.push(leadership.memberId);
            await leadership.resign();
          }),
        ),
      );
      await arena.queued(candidate);
    }
    await first.resign();
    await Promise.all(turns);
    assert.deepEqual(order, ['b', 'c']);
  }),

  define('a leader that resigned can campaign again, and gets a new term', async (arena) => {
    const candidate = await arena.member('a');
    for (const nth of [1n, 2n, 3n]) {
      const leadership = await arena.campaign(candidate);
      assert.equal(leadership.term, arena.term(nth));
      await leadership.resign();
      assert.equal(leadership.isValid(), false);
      assert.equal((await endOf(arena, leadership, arena.soonMs)).reason, 'resigned');
    }
  }),

  define('a second campaign for the same election is refused while one runs, and while it leads', async (arena) => {
    const [leader, waiter] = [await arena.member('a'), await arena.member('b')];
    await arena.campaign(leader);
    const cancel = new AbortController();
    const waiting = arena.campaign(waiter, undefined, cancel.signal);
    await arena.queued(leader, 'b');
    for (const candidate of [leader, waiter]) {
      await assert.rejects(candidate.member.election(NAME).campaign(), (error) => isIncumbentError(error, 'ALREADY_CAMPAIGNING'));
    }
    cancel.abort();
    await assert.rejects(waiting, { name: 'AbortError' });
  }),

  define('a candidate that gives up leaves no entry, and holds nobody up', async (arena) => {
    const a = await arena.member('a');
    const { first, second, cancel, third } = await leaderAndTwo(arena, [a, await arena.member('b'), await arena.member('c')]);
    cancel.abort(new Error('changed my mind'));
    await assert.rejects(second, /changed my mind/);
    await arena.until(async () => (await a.member.election(NAME).candidates()).length === 2, 'the entry is gone');
    await first.resign();
    assert.equal((await third).memberId, 'c');
  }),

  define('lead runs the work while it leads, resolves with its value and resigns', async (arena) => {
    const candidate = await arena.member('a');
    const value = await candidate.member.election(NAME).lead((leadership) => {
      arena.record(leadership);
      return leadership.isValid() ? 'done' : 'never';
    });
    assert.equal(value, 'done');
    assert.equal((await arena.campaign(await arena.member('b'))).term, arena.term(2n));
  }),

  define('lead rejects with what the work throws, and resigns', async (arena) => {
    const candidate = await arena.member('a');
    const failing = candidate.member.election(NAME).lead((leadership) => {
      arena.record(leadership);
      throw new Error('the work failed');
    });
    await assert.rejects(failing, /the work failed/);
    assert.equal((await arena.campaign(await arena.member('b'))).term, arena.term(2n));
  }),

  define('aborting lead tells the work, waits for it, resigns, and rejects with the reason', async (arena) => {
    const candidate = await arena.member('a');
    const cancel = new AbortController();
    let stopped = false;
    const leading = candidate.member.election(NAME).lead(
      async (leadership) => {
        arena.record(leadership);
        cancel.abort(new Error('enough'));
        await leadership.ended;
        await arena.sleep(1);
        stopped = true;
      },
      { signal: cancel.signal },
    );
    await assert.rejects(leading, /enough/);
    assert.equal(stopped, true);
    assert.equal((await arena.campaign(await arena.member('b'))).term, arena.term(2n));
  }),

  define('closing a member ends its leadership, its campaign and its keys, and the next one leads at once', async (arena) => {
    const [a, b] = [await arena.member('a'), await arena.member('b')];
    const first = await arena.campaign(a);
    const next = arena.campaign(b);
    await arena.queued(a, 'b');
    await a.member.close();
    await a.member.close();
    assert.equal((await endOf(arena, first, arena.soonMs)).reason, 'memberClosed');
    assert.equal((await next).term, arena.term(2n));
    await assert.rejects(
      async () => a.member.election(NAME),
      (error) => isIncumbentError(error, 'MEMBER_CLOSED'),
    );
    assert.equal(await b.store.read('members/a', { timeoutMs: arena.harness.timeoutMs }), undefined);
  }),

  define('a leader publishes within its term, in order, and observers see the latest', async (arena) => {
    const candidate = await arena.member('a');
    const observer = arena.observer(await arena.open());
    const leadership = await arena.campaign(candidate, { value: { n: 0 } });
    await arena.sees(observer, (view) => view.state === 'leader' && isN(view.value, 0), 'the first value');
    await Promise.all(times(10).map((n) => leadership.publish({ n: n + 1 })));
    await arena.sees(observer, (view) => view.state === 'leader' && isN(view.value, 10) && view.term === arena.term(1n), 'the last value');
    await leadership.resign();
    await assert.rejects(leadership.publish({ n: 11 }), (error) => isIncumbentError(error, 'LEADERSHIP_ENDED'));
  }),

  define("a leader's guarded write is refused once another has been elected", async (arena) => {
    const [a, b] = [await arena.member('a'), await arena.member('b')];
    const old = await arena.campaign(a);
    const put = new TextEncoder().encode('x');
    assert.equal((await old.swap([{ key: 'work/1', expect: null, put }])).swapped, true);
    const next = arena.campaign(b);
    await arena.queued(a, 'b');
    await old.resign();
    assert.equal((await (await next).swap([{ key: 'work/2', expect: null, put }])).swapped, true);
    // A former leader does not check whether it leads, and sends a write that it prepared earlier.
    const stale = await a.store.compareAndSwap([old.guard(), { key: 'work/3', expect: null, put }], { timeoutMs: arena.harness.timeoutMs });
    assert.equal(stale.swapped, false);
    assert.equal(await b.store.read('work/3', { timeoutMs: arena.harness.timeoutMs }), undefined);
  }),

  define('a term reported by a fence ends leadership as termBehind, and the next claim goes beyond it', async (arena) => {
    const candidate = await arena.member('a');
    const leadership = await arena.campaign(candidate);
    leadership.reportTerm(arena.term(1n));
    assert.equal(leadership.isValid(), true);
    leadership.reportTerm(arena.term(41n));
    const end = await endOf(arena, leadership, arena.soonMs);
    assert.deepEqual([end.reason, end.lost, end.seenTerm], ['termBehind', true, arena.term(41n)]);
    await leadership.resign();
    assert.equal((await arena.campaign(candidate)).term, arena.term(42n));
  }),

  define('minTerm sets a floor', async (arena) => {
    // A term that is higher than the time of any clock.
    const minTerm = 2n ** 61n;
    assert.equal((await arena.campaign(await arena.member('a'), { minTerm })).term, minTerm);
  }),
];

function isN(value: unknown, n: number): boolean {
  return typeof value === 'object' && value !== null && 'n' in value && value.n === n;
}
