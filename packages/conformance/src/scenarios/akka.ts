/** Scenarios of Akka's lease and of its cluster singleton, which uses it. */

import assert from 'node:assert/strict';
import { isIncumbentError, StoreError } from '@incumbent/core';
import { intercept } from '../intercept.ts';
import type { StoreCase } from '../case.ts';
import { endOf, NAME, type Arena } from '../election/arena.ts';
import { electionCasesOf } from '../election/define.ts';
import { begun } from '../time.ts';
import { idsInQueue, LEADER, leaseOf, lost, StandingCandidate } from './standing-candidate.ts';

const define = electionCasesOf('Akka');

/**
 * A client whose next swap of the leader's key is applied while its caller gets an error with an
 * unknown outcome.
 */
async function forgetful(
  arena: Arena,
): Promise<{ readonly store: Awaited<ReturnType<Arena['open']>>; forget(): void; readonly forgot: () => number }> {
  let due = 0;
  let forgot = 0;
  const store = intercept(await arena.open(), async ({ operation, keys }, go) => {
    const answer = await go();
    if (operation !== 'compareAndSwap' || due === 0 || !keys.includes(LEADER)) return answer;
    due -= 1;
    forgot += 1;
    throw lost('TIMEOUT');
  });
  return { store, forget: () => (due += 1), forgot: () => forgot };
}

export const akkaCases: readonly StoreCase[] = [
  define(
    'C14 a claim that was applied and not acknowledged is found to be its own: one term, spent once (Akka LeaseActorSpec, conflict while granting)',
    async (arena) => {
      const { store, forget, forgot } = await forgetful(arena);
      const a = arena.memberOn(store, 'a');
      forget();
      const leadership = await arena.campaign(a);
      assert.equal(forgot(), 1);
      assert.equal(leadership.term, arena.term(1n));
      assert.equal(leadership.isValid(), true);
      assert.equal(await idsInQueue(arena, a), 'a');
      // A key can be updated at the revision that was found.
      await leadership.publish('found');
      const seen = await arena.observer(await arena.open()).leader();
      assert.deepEqual([seen?.term, seen?.value], [arena.term(1n), 'found']);
    },
    { calm: true },
  ),

  define(
    'C14 a release that was applied and not acknowledged is a release: reported as resigned, and the next one follows (Akka LeaseActorSpec, release)',
    async (arena) => {
      const { store, forget, forgot } = await forgetful(arena);
      const observer = arena.observer(await arena.open());
      const a = arena.memberOn(store, 'a');
      const leadership = await arena.campaign(a);
      forget();
      await leadership.resign();
      assert.equal(forgot(), 1);
      await arena.sees(observer, (view) => view.state === 'vacant' && view.reason === 'resigned', 'the resignation');
      assert.equal((await arena.campaign(await arena.member('b'))).term, arena.term(2n));
    },
    { calm: true },
  ),

  define(
    'C14 a publishing that was applied and not acknowledged is applied once, and leadership goes on (Akka LeaseActorSpec, heartbeat conflict)',
    async (arena) => {
      const { store, forget, forgot } = await forgetful(arena);
      const leadership = await arena.campaign(arena.memberOn(store, 'a'), { value: 1 });
      forget();
      await leadership
        .publish(2)
        .catch((error: unknown) => assert.ok(isIncumbentError(error) && 'outcome' in error && error.outcome === 'unknown', String(error)));
      assert.equal(forgot(), 1);
      await leadership.publish(3);
      assert.equal(leadership.isValid(), true);
      assert.equal((await arena.observer(await arena.open()).leader())?.value, 3);
    },
    { calm: true },
  ),

  define(
    'C14 a renewal that finds the lease gone ends leadership at once, and the callback is called once (Akka LeaseActorSpec, heartbeat)',
    async (arena) => {
      let isGone = false;
      const store = intercept(await arena.open(), ({ operation }, go) => {
        if (operation !== 'renewLease' || !isGone) return go();
        isGone = false;
        return Promise.reject(new StoreError('LEASE_EXPIRED', 'refused', 'planted: the lease is gone'));
      });
      const a = arena.memberOn(store, 'a');
      const reported = arena.recordedEvents(a, 'sessionEnded', 'ended', 'elected');
      const leadership = await arena.campaign(a);
      const lease = await leaseOf(arena, a);
      let aborts = 0;
      leadership.signal.addEventListener('abort', () => (aborts += 1));
      isGone = true;
      const end = await endOf(arena, leadership, arena.calmTtlMs + arena.harness.slackMs);
      assert.deepEqual([end.reason, end.lost, aborts], ['leaseExpired', true, 1]);
      await leadership.released;
      assert.deepEqual(reported, ['elected', 'sessionEnded', 'ended']);
      // Nobody revokes a lease that is reported as gone.
      await store.revokeLease(lease, { timeoutMs: arena.harness.timeoutMs });
    },
    { calm: true },
  ),

  define(
    'E16 work starts only with leadership, is tried for again, stops with it, and is let go on leaving (Akka ClusterSingletonLeaseSpec)',
    async (arena) => {
      let refusals = 2;
      const store = intercept(await arena.open(), ({ operation, keys }, go) => {
        if (operation !== 'compareAndSwap' || !keys.includes(LEADER) || refusals === 0) return go();
        refusals -= 1;
        return Promise.reject(new StoreError('UNAVAILABLE', 'refused', 'planted: not now'));
      });
      const a = arena.memberOn(store, 'a');
      const log: string[] = [];
      const leading = begun(
        a.member.election(NAME).lead(async (leadership) => {
          arena.record(leadership);
          log.push(`started with ${refusals} refusals left, ${leadership.isValid() ? 'leading' : 'not leading'}`);
          await leadership.ended;
          log.push('stopped');
        }),
      );
      await arena.until(() => log.length === 1, 'the work has started');
      a.member.election(NAME).leadership?.reportTerm(arena.term(5n));
      await arena.until(() => log.length === 3, 'it has stopped, and started again');
      const b = new StandingCandidate(arena, await arena.member('b'));
      await arena.queued(b.candidate);
      await a.member.shutdown();
      await arena.until(() => b.leads, 'b leads', 2 * arena.ttlMs);
      assert.equal(await leading, undefined);
      assert.deepEqual(log, ['started with 0 refusals left, leading', 'stopped', 'started with 0 refusals left, leading', 'stopped']);
    },
    { calm: true },
  ),
];
