/**
 * Scenarios of Consul's lock and of Akka Management's: bounded attempts, and many at the same time.
 */

import assert from 'node:assert/strict';
import { isIncumbentError } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { NAME } from '../election/arena.ts';
import { electionCasesOf } from '../election/define.ts';
import { times } from '../combinations.ts';
import { idsInQueue } from './standing-candidate.ts';

const define = electionCasesOf('Consul');
const defineAkka = electionCasesOf('Akka');

export const tryCases: readonly StoreCase[] = [
  define(
    'C08 a try that is given a time comes back after it, and before twice of it, and leaves nothing (Consul TestLock_OneShot)',
    async (arena) => {
      const [a, b] = [await arena.member('a'), await arena.member('b')];
      const held = await arena.campaign(a);
      const waitMs = arena.ttlMs;
      const over = new AbortController();
      const from = arena.now();
      const trying = arena.campaign(b, undefined, over.signal);
      void arena.sleep(waitMs).then(() => over.abort(new Error('once is enough')));
      await assert.rejects(trying, /once is enough/);
      const tookMs = arena.now() - from;
      assert.ok(tookMs >= 0.99 * waitMs && tookMs <= 2 * waitMs + arena.harness.slackMs, `it took ${tookMs} ms`);
      await arena.until(async () => (await idsInQueue(arena, a)) === 'a', 'its entry is gone');
      assert.equal(held.isValid(), true);
      // A candidate takes a free lock at once, and the time limit of its wait does not end the
      // lock.
      await held.resign();
      const short = new AbortController();
      const won = await arena.campaign(b, undefined, short.signal);
      short.abort();
      await arena.sleep(arena.ttlMs / 10);
      assert.equal(won.isValid(), true);
    },
    { calm: true },
  ),

  define(
    'C06 who asks for the same election twice has one: one leadership, of which both see the end (Consul TestLock_ReclaimLock)',
    async (arena) => {
      const a = await arena.member('a');
      const leadership = await arena.campaign(a);
      const again = a.member.election(NAME);
      assert.equal(again.leadership, leadership);
      await assert.rejects(again.campaign(), (error) => isIncumbentError(error, 'ALREADY_CAMPAIGNING'));
      assert.equal(leadership.isValid(), true);
      await again.leadership?.resign();
      assert.equal(leadership.isValid(), false);
      assert.deepEqual([a.member.election(NAME).leadership, again.leadership], [undefined, undefined]);
    },
    { calm: true },
  ),

  defineAkka(
    'C16 of ten that try at the same time exactly one gets it (Akka LeaseContentionSpec)',
    async (arena) => {
      const over = new AbortController();
      const candidates = await Promise.all(times(10).map((i) => arena.member(`m${i}`)));
      const tries = candidates.map((candidate) => arena.campaign(candidate, undefined, over.signal));
      const won = await Promise.race(tries);
      await arena.until(async () => (await idsInQueue(arena, candidates[0]!)).split(' ').length === 10, 'all have tried');
      await arena.sleep(arena.ttlMs / 4);
      over.abort(new Error('late'));
      const outcomes = await Promise.allSettled(tries);
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
      assert.equal(won.isValid(), true);
      await arena.until(async () => (await idsInQueue(arena, candidates[0]!)) === won.memberId, 'only the leader is left in the queue');
    },
    { calm: true },
  ),
];
