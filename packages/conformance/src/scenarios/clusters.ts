/** Servers of a cluster are killed, stopped, or left without a majority: what Curator's and etcd's tests do to an ensemble. */

import assert from 'node:assert/strict';
import type { StoreCase } from '../case.ts';
import type { Arena } from '../election/arena.ts';
import { electionCasesOf } from '../election/define.ts';
import type { Cluster } from '../harness.ts';
import { checkHistory } from '../history.ts';
import { begun } from '../time.ts';
import { NOTICE_MS, oneLeads, StandingCandidate, standInOrder } from './standing-candidate.ts';

const define = electionCasesOf('clusters');

/** How long a cluster may take to choose a leader of its own and to serve, and clients to find it. */
const RECOVERY_MS = 20_000;
/** So long a lease outlives any such time. */
const PATIENT_TTLS = 4;

function clusterOf({ harness: { cluster } }: Arena): Cluster {
  assert.ok(cluster !== undefined, 'the case names what it needs');
  return cluster;
}

export const clusterCases: readonly StoreCase[] = [
  define(
    'A18 the server that leads the others is killed: one member leads, and no two (Curator TestLeaderLatchCluster.testInCluster)',
    async (arena) => {
      const cluster = clusterOf(arena);
      const standing = await standInOrder(arena, 'a', 'b', 'c');
      await cluster.killLeader();
      await arena.sleep(arena.ttlMs);
      const leader = await oneLeads(arena, standing, RECOVERY_MS);
      // It does not merely believe: what it writes is taken.
      await arena.until(async () => leaderWrites(standing), 'the leader can write', RECOVERY_MS);
      assert.equal(standing.filter(({ leads }) => leads).length, 1, leader.candidate.member.memberId);
      await cluster.restore();
    },
    { needs: ['cluster'] },
  ),

  define(
    'A28 the majority is lost: nobody leads; it is back: one leads, in a new term (Curator TestLeaderSelectorCluster.testRestart)',
    async (arena) => {
      const cluster = clusterOf(arena);
      const standing = await standInOrder(arena, 'a', 'b');
      const { term } = standing[0]!.leadership;
      await cluster.killMajority();
      await arena.until(() => standing.every(({ leads }) => !leads), 'nobody leads', arena.ttlMs + arena.harness.slackMs);
      await arena.sleep(arena.ttlMs);
      assert.equal(standing.filter(({ leads }) => leads).length, 0);
      await cluster.restore();
      const leader = await oneLeads(arena, standing, RECOVERY_MS);
      assert.ok(leader.leadership.term > term);
    },
    { needs: ['cluster'] },
  ),

  define(
    'B13 a majority that is lost for less than the ttl costs no term (etcd TestLeaseRenewLostQuorum)',
    async (arena) => {
      const cluster = clusterOf(arena);
      const ttlMs = PATIENT_TTLS * arena.ttlMs;
      const a = new StandingCandidate(arena, await arena.member('a', { ttlMs }));
      await arena.until(() => a.leads, 'a leads');
      // Servers that stand still: how long they would take to start is the machine's matter.
      await cluster.freezeMajority();
      let isPublished = false;
      const publishing = begun(a.leadership.publish('there is a majority')).then(() => (isPublished = true));
      await arena.sleep(ttlMs / 4);
      assert.equal(isPublished, false);
      await cluster.restore();
      await publishing;
      await arena.sleep(ttlMs);
      assert.deepEqual(a.terms, [arena.term(1n)]);
      assert.ok(a.leads);
    },
    { needs: ['cluster'] },
  ),

  define(
    'B11 the server that leads the others stands still and goes on: no two believe, and one leads (etcd TestV3LeaseFailover)',
    async (arena) => {
      const cluster = clusterOf(arena);
      const standing = await standInOrder(arena, 'a', 'b');
      await cluster.freezeLeader();
      // Whether the others serve by then is the store's own matter.
      await arena.sleep(2 * arena.ttlMs);
      assert.ok(standing.filter(({ leads }) => leads).length <= 1);
      await cluster.restore();
      await arena.until(async () => leaderWrites(standing), 'one leads, and can write', RECOVERY_MS);
      await arena.sleep(arena.ttlMs);
      const { candidate } = await oneLeads(arena, standing, RECOVERY_MS);
      if (candidate.store.capabilities.endsEarly === undefined) assert.deepEqual(checkHistory(arena.events, { unfinished: true }), []);
    },
    // Some stores end leases early at just that moment, and say so.
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
