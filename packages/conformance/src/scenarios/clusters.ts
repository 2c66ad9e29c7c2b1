/**
 * Servers of a cluster are killed, stopped, or left without a majority, as Curator's and etcd's
 * tests do.
 */

import assert from 'node:assert/strict';
import type { StoreCase } from '../case.ts';
import { electionCasesOf } from '../election/define.ts';
import { checkHistory } from '../check-history.ts';
import { begun } from '../time.ts';
import { NOTICE_MS, oneLeads, StandingCandidate, standInOrder } from './standing-candidate.ts';

const define = electionCasesOf('clusters');

/** How long a cluster may take to elect its leader and serve, and clients to find it, in ms. */
const RECOVERY_MS = 20_000;
/** A lease of this many ttls outlives that time. */
const LONG_TTLS = 4;

/**
 * Scenarios in which servers of a cluster fail. They need `harness.cluster`, and are skipped
 * without it.
 */
export const clusterCases: readonly StoreCase[] = [
  define(
    'A18 the server that leads the others is killed: one member leads, and no two (Curator TestLeaderLatchCluster.testInCluster)',
    async (arena) => {
      const standing = await standInOrder(arena, 'a', 'b', 'c');
      await arena.cluster.killLeader();
      await arena.sleep(arena.ttlMs);
      const leader = await oneLeads(arena, standing, RECOVERY_MS);
      // The store accepts the writes of the leader, so it really leads.
      await arena.until(async () => leaderWrites(standing), 'the leader can write', RECOVERY_MS);
      assert.equal(standing.filter(({ leads }) => leads).length, 1, leader.candidate.member.memberId);
      await arena.cluster.restore();
    },
    { needs: ['cluster'] },
  ),

  define(
    'A28 the majority is lost: nobody leads; it is back: one leads, in a new term (Curator TestLeaderSelectorCluster.testRestart)',
    async (arena) => {
      const standing = await standInOrder(arena, 'a', 'b');
      const { term } = standing[0]!.leadership;
      await arena.cluster.killMajority();
      await arena.until(() => standing.every(({ leads }) => !leads), 'nobody leads', arena.ttlMs + arena.harness.slackMs);
      await arena.sleep(arena.ttlMs);
      assert.equal(standing.filter(({ leads }) => leads).length, 0);
      await arena.cluster.restore();
      const leader = await oneLeads(arena, standing, RECOVERY_MS);
      assert.ok(leader.leadership.term > term);
    },
    { needs: ['cluster'] },
  ),

  define(
    'B13 a majority that is lost for less than the ttl costs no term (etcd TestLeaseRenewLostQuorum)',
    async (arena) => {
      const ttlMs = LONG_TTLS * arena.ttlMs;
      const a = new StandingCandidate(arena, await arena.member('a', { ttlMs }));
      await arena.until(() => a.leads, 'a leads');
      // Stop the servers instead of killing them: the time that they need to start depends on the
      // machine.
      await arena.cluster.freezeMajority();
      let isPublished = false;
      const publishing = begun(a.leadership.publish('there is a majority').then(() => (isPublished = true)));
      await arena.sleep(ttlMs / 4);
      assert.equal(isPublished, false);
      await arena.cluster.restore();
      await publishing;
      await arena.sleep(ttlMs);
      assert.deepEqual(a.terms, [arena.term(1n)]);
      assert.ok(a.leads);
    },
    { needs: ['cluster'] },
  ),

  define(
    'B11 the server that leads the others stands still and goes on: no two consider themselves leader, and one leads (etcd TestV3LeaseFailover)',
    async (arena) => {
      const standing = await standInOrder(arena, 'a', 'b');
      await arena.cluster.freezeLeader();
      // By then, some stores serve with the other servers, and some do not.
      await arena.sleep(2 * arena.ttlMs);
      assert.ok(standing.filter(({ leads }) => leads).length <= 1);
      await arena.cluster.restore();
      await arena.until(async () => leaderWrites(standing), 'one leads, and can write', RECOVERY_MS);
      await arena.sleep(arena.ttlMs);
      const { candidate } = await oneLeads(arena, standing, RECOVERY_MS);
      if (candidate.store.capabilities.endsEarly === undefined) assert.deepEqual(checkHistory(arena.events, { unfinished: true }), []);
    },
    // Some stores end leases early at this moment, and declare it.
    { needs: ['cluster'], history: { overlapMs: NOTICE_MS } },
  ),
];

async function leaderWrites(standing: readonly StandingCandidate[]): Promise<boolean> {
  const leader = standing.find(({ leads }) => leads);
  const written = await leader?.leadership.publish('here').then(
    () => true,
    () => false,
  );
  return written === true;
}
