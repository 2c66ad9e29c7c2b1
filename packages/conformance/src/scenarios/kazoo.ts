/** Scenarios of kazoo's election and lock. */

import assert from 'node:assert/strict';
import { intercept, type StoreCall } from '../intercept.ts';
import type { StoreCase } from '../case.ts';
import { NAME, type Arena, type TestMember } from '../election/arena.ts';
import { electionCasesOf } from '../election/define.ts';
import { begun } from '../time.ts';
import { idsInQueue, lost, StandingCandidate } from './standing-candidate.ts';

const define = electionCasesOf('kazoo');

/** The calls at the start of a campaign. */
const firstCalls: readonly StoreCall['operation'][] = ['grantLease', 'compareAndSwap', 'enqueue', 'list', 'read'];

/** Leads until `fail` is called. */
function leadUntilFailing(arena: Arena, candidate: TestMember): { readonly failed: Promise<unknown>; fail(): void } {
  const failing = Promise.withResolvers<never>();
  const failed = begun(
    candidate.member.election(NAME).lead((leadership) => {
      arena.record(leadership);
      return failing.promise;
    }),
  );
  return { failed, fail: () => failing.reject(new Error('the work failed')) };
}

export const kazooCases: readonly StoreCase[] = [
  define(
    'A30 of three contenders the second gives up and is passed over, the first comes back, and work that throws lets go (kazoo test_election)',
    async (arena) => {
      const [a, b, c] = [await arena.member('a'), await arena.member('b'), await arena.member('c')];
      const first = leadUntilFailing(arena, a);
      await arena.until(() => a.member.election(NAME).leadership !== undefined, 'a leads');
      const second = new StandingCandidate(arena, b);
      await arena.queued(b);
      const third = new StandingCandidate(arena, c);
      await arena.queued(c);
      await second.stop();
      // The campaign ends before its entry is gone, and a leader hands over to an entry.
      await arena.until(async () => (await idsInQueue(arena, c)) === 'a c', 'b has left the queue');
      first.fail();
      await assert.rejects(first.failed, /the work failed/);
      await arena.until(() => third.leads, 'the third leads');
      assert.deepEqual([second.terms, third.terms], [[], [arena.term(2n)]]);
      const again = new StandingCandidate(arena, a);
      await arena.queued(a);
      await third.stop();
      await arena.until(() => again.leads, 'the first leads again');
      assert.deepEqual(again.terms, [arena.term(3n)]);
    },
    { calm: true },
  ),

  ...firstCalls.map((operation) =>
    define(
      `A31 a first ${operation} that fails is tried again: elected, with one entry (kazoo test_lock_fail_first_call)`,
      async (arena) => {
        let failed = false;
        const store = intercept(await arena.open(), (call, go) => {
          if (failed || call.operation !== operation) return go();
          failed = true;
          return Promise.reject(lost());
        });
        const a = arena.memberOn(store, 'a');
        const leadership = await arena.campaign(a);
        assert.equal(failed, true);
        assert.equal(leadership.term, arena.term(1n));
        assert.equal(await idsInQueue(arena, a), 'a');
      },
      { calm: true },
    ),
  ),
];
