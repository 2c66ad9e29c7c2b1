/**
 * Scenarios of Apache Curator's LeaderLatch: waiting candidates, flapping links, and nodes that
 * vanish at a critical moment.
 */

import assert from 'node:assert/strict';
import { isIncumbentError, type Leadership } from '@incumbent/core';
import { intercept } from '../intercept.ts';
import type { StoreCase } from '../case.ts';
import { endOf, NAME, type Arena, type TestMember } from '../election/arena.ts';
import { electionCasesOf } from '../election/define.ts';
import { times } from '../combinations.ts';
import { begun, within } from '../time.ts';
import {
  CANDIDATES,
  idsInQueue,
  LEADER,
  leaseOf,
  NOTICE_MS,
  oneLeads,
  queueOf,
  StandingCandidate,
  standInOrder,
} from './standing-candidate.ts';

const define = electionCasesOf('Curator');

/** The ways in which a leader can end its leadership, or an operator can. */
const endings: Readonly<Record<string, (arena: Arena, candidate: TestMember, leadership: Leadership) => Promise<void>>> = {
  resigned: (_, __, leadership) => leadership.resign(),
  memberClosed: (_, { member }) => member.close(),
  handover: (_, __, leadership) => leadership.handover('successor'),
  termBehind: async (_, __, leadership) => leadership.reportTerm(leadership.term + 1n),
};

/**
 * Deletes everything of an election but the term, including the folders that contained it if the
 * store has folders.
 */
async function wipe(arena: Arena, candidate: TestMember): Promise<void> {
  const operator = arena.operator;
  const entries = await queueOf(arena, candidate);
  await Promise.allSettled([LEADER, ...entries.map(({ key }) => key)].map((key) => operator.deleteKey(key)));
  await Promise.allSettled([operator.deleteKey(CANDIDATES)]);
}

export const latchCases: readonly StoreCase[] = [
  define(
    'A01 each of five leads in the order of joining, as the one before it is closed (Curator TestLeaderLatch.testBasic)',
    async (arena) => {
      const standing: StandingCandidate[] = [];
      for (const [index, id] of ['a', 'b', 'c', 'd', 'e'].entries()) {
        // The earlier a candidate has joined, the slower it is. By speed alone the last one would
        // lead.
        const slowMs = (4 - index) * (arena.harness.timeoutMs / 100);
        const store = intercept(await arena.open(), async ({ operation }, go) => {
          if (operation !== 'renewLease') await arena.sleep(slowMs);
          return go();
        });
        const one = new StandingCandidate(arena, arena.memberOn(store, id));
        standing.push(one);
        await arena.queued(one.candidate);
      }
      for (const [index, one] of standing.entries()) {
        const leader = await oneLeads(arena, standing);
        assert.equal(leader.candidate.member.memberId, one.candidate.member.memberId);
        assert.deepEqual(leader.terms, [arena.term(BigInt(index + 1))]);
        await one.candidate.member.close();
      }
      assert.equal(standing.filter(({ leads }) => leads).length, 0);
    },
    { calm: true },
  ),

  define(
    'A02 C04 in loops of leading and resigning nobody meets another, and all take turns (Curator TestLeaderLatch.testWaiting)',
    async (arena) => {
      const candidates = await Promise.all(['a', 'b', 'c', 'd'].map((id) => arena.member(id)));
      const turns: string[] = [];
      let holder: string | undefined;
      let finished = 0;
      const loop = async (candidate: TestMember): Promise<void> => {
        for (let round = 0; round < 3; round += 1) {
          const leadership = await arena.campaign(candidate);
          assert.equal(holder, undefined, 'nobody else is at work');
          holder = candidate.member.memberId;
          turns.push(holder);
          // The one who led before may need longer to join again than this one to lead and to
          // resign.
          const allAreThere = async (): Promise<boolean> => (await queueOf(arena, candidate)).length === candidates.length - finished;
          await arena.until(allAreThere, 'all who go on are in the queue');
          await arena.sleep(5);
          assert.equal(holder, candidate.member.memberId, 'nobody has come meanwhile');
          holder = undefined;
          await leadership.resign();
        }
        finished += 1;
      };
      await Promise.all(candidates.map(loop));
      const round = turns.slice(0, 4);
      assert.equal(new Set(round).size, 4);
      assert.deepEqual(turns, [...round, ...round, ...round]);
    },
    { calm: true },
  ),

  define(
    'A07 a member that is closed while it joins leaves no entry (Curator TestLeaderLatch.testCreateDeleteRace)',
    async (arena) => {
      const stepMs = arena.harness.timeoutMs / 400;
      const racers = times(12).map(async (i) => {
        const candidate = await arena.member(`m${i}`);
        const campaigning = arena.campaign(candidate);
        await arena.sleep(1 + i * stepMs);
        await candidate.member.close();
        await campaigning.catch((error: unknown) => assert.ok(isIncumbentError(error, 'MEMBER_CLOSED'), String(error)));
      });
      await Promise.all(racers);
      const next = await arena.member('next');
      const ids = await next.store.list('members', { timeoutMs: arena.harness.timeoutMs });
      assert.deepEqual(
        ids.map(({ key }) => key),
        [],
      );
      assert.equal(await idsInQueue(arena, next), '');
      await arena.campaign(next);
      // The caller of the grant has given up, so nothing is bound to the lease, and it expires.
      await arena.sleep(1.1 * arena.calmTtlMs);
    },
    // The revocation of a lease has the time of one call, which is a part of the ttl.
    { calm: true },
  ),

  define(
    'A08 whom it waits for vanishes while its own session begins anew: it is elected, with one entry (Curator TestLeaderLatch.testWatchedNodeDeletedOnReconnect)',
    async (arena) => {
      const operator = arena.operator;
      const [a, b, c] = await standInOrder(arena, 'a', 'b', 'c');
      assert.ok(a !== undefined && b !== undefined && c !== undefined);
      await Promise.all([operator.expireLease(await leaseOf(arena, c.candidate)), b.candidate.member.close()]);
      await arena.until(async () => (await idsInQueue(arena, a.candidate)) === 'a c', 'a leads, and c is behind it, once');
      await a.candidate.member.close();
      await arena.until(() => c.leads, 'c leads');
      assert.equal(await idsInQueue(arena, c.candidate), 'c');
    },
    { needs: ['operator'], calm: true },
  ),

  define(
    'A10 leader and follower lose their sessions at the same time: in the end one leads, and each has one entry (Curator TestLeaderLatch.testResettingOfLeadershipAfterConcurrentLeadershipChange)',
    async (arena) => {
      const operator = arena.operator;
      const standing = await standInOrder(arena, 'a', 'b');
      const reader = { store: await arena.open() };
      for (let round = 0; round < 3; round += 1) {
        const before = standing.flatMap(({ terms }) => terms).length;
        const leases = await Promise.all(standing.map(({ candidate }) => leaseOf(arena, candidate)));
        await Promise.all(leases.map((lease) => operator.expireLease(lease)));
        await arena.until(() => standing.flatMap(({ terms }) => terms).length > before, 'somebody was elected since');
        await arena.until(
          async () => standing.some(({ leads }) => leads) && ['a b', 'b a'].includes(await idsInQueue(arena, reader)),
          'one leads, and the other waits behind it',
        );
      }
      const leader = await oneLeads(arena, standing);
      const { term } = leader.leadership;
      await arena.sleep(arena.ttlMs / 2);
      assert.equal(leader.leadership.term, term);
      assert.equal(standing.filter(({ leads }) => leads).length, 1);
    },
    { needs: ['operator'], history: { overlapMs: NOTICE_MS }, calm: true },
  ),

  define(
    'A11 the leader leaves between a look at the queue and the watch of it: exactly one of two leads (Curator TestLeaderLatch.testLeadershipElectionWhenNodeDisappearsAfterChildrenAreRetrieved)',
    async (arena) => {
      const first = await arena.campaign(await arena.member('a'));
      let left = false;
      const store = intercept(await arena.open(), async ({ operation }, go) => {
        const answer = await go();
        if (operation === 'list' && !left) {
          left = true;
          await first.resign();
        }
        return answer;
      });
      const standing = [new StandingCandidate(arena, arena.memberOn(store, 'b')), new StandingCandidate(arena, await arena.member('c'))];
      const leader = await oneLeads(arena, standing, arena.calmTtlMs);
      assert.equal(left, true);
      const { term } = leader.leadership;
      await arena.sleep(arena.ttlMs / 4);
      assert.equal(leader.leadership.term, term);
      assert.equal(standing.flatMap(({ terms }) => terms).length, 1);
    },
    { calm: true },
  ),

  define(
    'A12 the whole queue and the record vanish under leader and followers: one leads again, and all are back (Curator TestLeaderLatch.testGetChildrenHitsNoNode)',
    async (arena) => {
      const standing = await standInOrder(arena, 'a', 'b', 'c');
      const [a] = standing;
      assert.ok(a !== undefined);
      const { term } = a.leadership;
      await wipe(arena, a.candidate);
      await arena.until(() => standing.some((one) => one.leads && one.leadership.term > term), 'one leads, in a new term');
      await arena.until(
        async () => (await idsInQueue(arena, a.candidate)).split(' ').toSorted().join(' ') === 'a b c',
        'all are back, once',
      );
      await oneLeads(arena, standing);
    },
    { needs: ['operator'], calm: true },
  ),

  define(
    'A15 a member that is closed before it has reached the store neither fails nor comes late (Curator TestLeaderLatch.testProperCloseWithoutConnectionEstablished)',
    async (arena) => {
      const a = await arena.faultyMember('a');
      const reported = arena.recordedEvents(a, 'sessionOpened', 'joined', 'elected');
      await a.faults.cut();
      const campaigning = begun(a.member.election(NAME).campaign());
      await arena.sleep(arena.ttlMs / 10);
      const { callTimeoutMs, drainMs } = a.member.timing;
      const closedWithinMs = 3 * callTimeoutMs + drainMs + arena.harness.slackMs;
      await within(arena.harness.clock, closedWithinMs, 'it closes', a.member.close());
      await assert.rejects(campaigning, (error) => isIncumbentError(error, 'MEMBER_CLOSED'));
      await a.faults.heal();
      await arena.sleep(arena.ttlMs);
      assert.deepEqual(reported, []);
      const b = await arena.member('b');
      assert.equal(await idsInQueue(arena, b), '');
    },
    { faults: ['cut'] },
  ),

  ...Object.entries(endings).map(([reason, end]) =>
    define(
      `A16 an end is reported once: ${reason} (Curator TestLeaderLatch.testCallbackSanity)`,
      async (arena) => {
        const [a, successor] = [await arena.member('a'), await arena.member('successor')];
        const reported = arena.recordedEvents(a, 'elected', 'ended', 'released');
        const leadership = await arena.campaign(a);
        let aborts = 0;
        leadership.signal.addEventListener('abort', () => (aborts += 1));
        const next = arena.campaign(successor);
        await arena.queued(successor);
        await end(arena, a, leadership);
        assert.equal((await endOf(arena, leadership, arena.soonMs)).reason, reason);
        // Calls after the end change nothing.
        await leadership.resign();
        await a.member.close();
        await next;
        assert.equal(aborts, 1);
        assert.deepEqual(reported, ['elected', 'ended', 'released']);
      },
      { calm: true },
    ),
  ),
];
