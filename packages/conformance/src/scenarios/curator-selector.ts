/**
 * Scenarios of Apache Curator's LeaderSelector: interrupted work, ended sessions, and lost answers.
 */

import assert from 'node:assert/strict';
import { isIncumbentError, StoreError } from '@incumbent/core';
import { intercept, type StoreCall } from '../intercept.ts';
import type { StoreCase } from '../case.ts';
import { NAME, type Arena } from '../election/arena.ts';
import { electionCasesOf } from '../election/define.ts';
import { idsInQueue, leaseOf, lost, NOTICE_MS, queueOf, standInOrder } from './standing-candidate.ts';

const define = electionCasesOf('Curator');

/** Calls that a candidate needs. */
const forbidden: readonly StoreCall['operation'][] = ['grantLease', 'compareAndSwap', 'enqueue'];

/** The calls of a new member's campaign: its lease, its id, its entry, two reads, its claim. */
const CALLS = 6;

/**
 * Gives up before or after the n-th call of a new member's campaign, and returns whether there was
 * such a call. The same member is elected afterwards.
 */
async function interrupt(arena: Arena, nth: number, when: 'before' | 'after'): Promise<boolean> {
  const cancel = new AbortController();
  let calls = 0;
  const store = intercept(await arena.open(), async (call, go) => {
    // Renewals do not belong to the campaign.
    if (call.operation !== 'renewLease') calls += 1;
    const isDue = calls === nth;
    if (isDue && when === 'before') cancel.abort();
    const answer = await go();
    if (isDue && when === 'after') cancel.abort();
    return answer;
  });
  const candidate = arena.memberOn(store, `${when}-${nth}`);
  const [interrupted] = await Promise.allSettled([arena.campaign(candidate, undefined, cancel.signal)]);
  const wasInterrupted = cancel.signal.aborted;
  calls = nth;
  if (interrupted.status === 'fulfilled') await interrupted.value.resign();
  const isEmpty = async (): Promise<boolean> => (await queueOf(arena, candidate)).length === 0;
  await arena.until(isEmpty, `nothing is left after an interruption ${when} call ${nth}`, 2 * arena.ttlMs);
  await (await arena.campaign(candidate)).resign();
  await candidate.member.close();
  return wasInterrupted;
}

export const selectorCases: readonly StoreCase[] = [
  define(
    'A20 C02 a leader whose session an operator has ended stops at once, joins again behind the next one, and follows it (Curator TestLeaderSelector.testKillSessionThenCloseShouldElectNewLeader, Consul TestLock_ForceInvalidate)',
    async (arena) => {
      const [a, b] = await standInOrder(arena, 'a', 'b');
      assert.ok(a !== undefined && b !== undefined);
      const { leadership } = a;
      const lease = await leaseOf(arena, a.candidate);
      await arena.operator.expireLease(lease);
      await arena.until(() => leadership.signal.aborted, 'it is told', NOTICE_MS + arena.harness.slackMs);
      await arena.until(() => b.leads, 'b leads');
      await arena.until(async () => (await idsInQueue(arena, b.candidate)) === 'b a', 'a is behind it');
      await b.candidate.member.close();
      await arena.until(() => a.leads, 'a leads again');
      assert.equal(a.leaderships.length, 2);
    },
    { needs: ['operator'], history: { overlapMs: NOTICE_MS }, calm: true },
  ),

  define(
    'A23 A24 a lone candidate that is interrupted before or after any call leaves nothing, and is elected the next time (Curator TestLeaderSelector.testInterruptLeadershipWithRequeue)',
    async (arena) => {
      for (const when of ['before', 'after'] as const) {
        let nth = 1;
        while (await interrupt(arena, nth, when)) nth += 1;
        assert.ok(nth > CALLS, `a campaign of ${nth - 1} calls`);
      }
      // The caller of the grant has given up, so nothing is bound to the lease, and it expires.
      await arena.sleep(1.1 * arena.calmTtlMs);
    },
    { calm: true },
  ),

  define(
    'A27 an entry whose making was not acknowledged is found again: there is one, and none when its maker gives up (Curator TestLeaderSelectorEdges.createProtectedNodeInBackground)',
    async (arena) => {
      const a = await arena.member('a');
      const first = await arena.campaign(a);
      let swallowed = 0;
      const cancel = new AbortController();
      let isLast = false;
      const store = intercept(await arena.open(), async ({ operation }, go) => {
        const answer = await go();
        if (operation !== 'enqueue' || swallowed === 2) return answer;
        swallowed += 1;
        if (isLast) cancel.abort(new Error('enough'));
        throw lost();
      });
      const b = arena.memberOn(store, 'b');
      const next = arena.campaign(b);
      await arena.until(() => swallowed === 2, 'two answers were lost');
      await arena.queued(a, 'b');
      await arena.sleep(arena.ttlMs / 4);
      assert.equal(await idsInQueue(arena, a), 'a b');
      await first.resign();
      await (await next).resign();
      // This loss is like the one before, but the caller gives up at that moment.
      isLast = true;
      swallowed = 1;
      await assert.rejects(b.member.election(NAME).campaign({ signal: cancel.signal }), /enough/);
      await arena.until(async () => (await idsInQueue(arena, a)) === '', 'no entry is left', 2 * arena.ttlMs);
    },
    { calm: true },
  ),

  ...forbidden.map((operation) =>
    define(
      `A29 a candidate that may not ${operation} is told so, once and by the code, and leaves nothing (Curator TestLeaderAcls)`,
      async (arena) => {
        let refused = 0;
        const store = intercept(await arena.open(), (call, go) => {
          if (call.operation !== operation) return go();
          refused += 1;
          return Promise.reject(new StoreError('PERMISSION_DENIED', 'refused', 'planted: not with these credentials'));
        });
        const a = arena.memberOn(store, 'a');
        await assert.rejects(a.member.election(NAME).campaign(), (error) => isIncumbentError(error, 'PERMISSION_DENIED'));
        await arena.sleep(arena.ttlMs / 4);
        assert.equal(refused, 1);
        const b = await arena.member('b');
        assert.equal(await idsInQueue(arena, b), '');
        await arena.campaign(b);
      },
      { calm: true },
    ),
  ),

  define(
    'A25 one that was closed never leads, and one whose work came back from a loss stands again by itself (Curator TestLeaderSelector.testClosing, testAutoRequeue)',
    async (arena) => {
      const [a, b, c] = await standInOrder(arena, 'a', 'b', 'c');
      assert.ok(a !== undefined && b !== undefined && c !== undefined);
      await b.candidate.member.close();
      a.leadership.reportTerm(a.leadership.term + 1n);
      await arena.until(() => c.leads, 'c leads, past the one that was closed');
      await arena.until(async () => (await idsInQueue(arena, c.candidate)) === 'c a', 'a is in the queue again');
      await c.stop();
      await arena.until(() => a.leads, 'a leads again');
      assert.deepEqual([a.leaderships.length, b.leaderships.length, c.leaderships.length], [2, 0, 1]);
      assert.throws(
        () => b.candidate.member.election(NAME),
        (error) => isIncumbentError(error, 'MEMBER_CLOSED'),
      );
    },
    { calm: true },
  ),
];
