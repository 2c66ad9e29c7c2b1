/**
 * The server of the store is killed and restarted, as Curator's tests do while a latch or a
 * selector is in use.
 */

import assert from 'node:assert/strict';
import { isIncumbentError } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { electionCasesOf } from '../election/define.ts';
import { within } from '../time.ts';
import { idsInQueue, oneLeads, StandingCandidate, standInOrder } from './standing-candidate.ts';

const define = electionCasesOf('outages');

/**
 * How long clients may take to find a server that is back, in addition to everything else, in ms.
 */
const RECONNECT_MS = 10_000;

/**
 * Scenarios in which the server of the store fails. They need `harness.server`, and are skipped
 * without it.
 */
export const outageCases: readonly StoreCase[] = [
  define(
    'A04 the server is lost: soon nobody leads, and who watches knows nothing; it is back: exactly one leads (Curator TestLeaderLatch.testLostConnection)',
    async (arena) => {
      const standing = await standInOrder(arena, 'a', 'b', 'c');
      const client = await arena.open();
      const observer = arena.observer(client);
      await arena.sees(observer, (view) => view.state === 'leader', 'the leader');
      const { term } = standing[0]!.leadership;
      await arena.server.kill();
      await arena.until(() => standing.every(({ leads }) => !leads), 'nobody leads', arena.calmTtlMs + arena.harness.slackMs);
      await arena.sees(observer, (view) => view.state === 'unknown', 'that it does not know', RECONNECT_MS);
      await arena.server.restart();
      const backMs = arena.failoverMs(client) + RECONNECT_MS;
      const leader = await oneLeads(arena, standing, backMs);
      assert.ok(leader.leadership.term > term, 'a new term');
      await arena.sees(observer, (view) => view.state === 'leader' && view.term > term, 'the new leader', backMs);
      await arena.until(
        async () => (await idsInQueue(arena, leader.candidate)).split(' ').toSorted().join(' ') === 'a b c',
        'all stand again, once',
        backMs,
      );
      await oneLeads(arena, standing);
    },
    { needs: ['server'], calm: true },
  ),

  define(
    'A05 those that begin while there is no server are elected once when there is one, and lose nothing before (Curator TestLeaderLatch.testNoServerAtStart)',
    async (arena) => {
      const candidates = [await arena.member('a'), await arena.member('b')];
      const reported = candidates.map((candidate) => arena.recordedEvents(candidate, 'elected', 'ended'));
      await arena.server.kill();
      const standing = candidates.map((candidate) => new StandingCandidate(arena, candidate));
      await arena.sleep(arena.ttlMs);
      assert.deepEqual(reported, [[], []]);
      await arena.server.restart();
      await oneLeads(arena, standing, arena.failoverMs(candidates[0]!.store) + RECONNECT_MS);
      await arena.until(async () => (await idsInQueue(arena, candidates[0]!)).split(' ').length === 2, 'both stand', RECONNECT_MS);
      await arena.sleep(arena.ttlMs / 2);
      assert.deepEqual(reported.flat(), ['elected']);
    },
    { needs: ['server'], calm: true },
  ),

  define(
    'A21 the server is restarted under a leader, which is closed after that: the other one leads (Curator TestLeaderSelector.testKillServerThenCloseShouldElectNewLeader)',
    async (arena) => {
      const standing = await standInOrder(arena, 'a', 'b');
      const [a] = standing;
      await arena.server.kill();
      await arena.server.restart();
      const backMs = arena.failoverMs(a!.candidate.store) + RECONNECT_MS;
      // Wait until a client's calls are answered again.
      await arena.until(async () => (await idsInQueue(arena, a!.candidate)).split(' ').length === 2, 'both stand again', backMs);
      const leader = await oneLeads(arena, standing, backMs);
      const other = standing.find((one) => one !== leader);
      await leader.candidate.member.close();
      await arena.until(() => other!.leads, 'the other one leads', backMs);
    },
    { needs: ['server'], calm: true },
  ),

  define(
    'A25 A28 the server dies under a leader: validity ends with the lease, to close takes no longer than it may, and who was closed never leads (Curator TestLeaderSelector.testServerDying, TestLeaderSelectorCluster.testLostRestart)',
    async (arena) => {
      const [a, b] = await standInOrder(arena, 'a', 'b');
      const { leadership } = a!;
      await arena.server.kill();
      await arena.until(() => leadership.signal.aborted, 'the leader learns of it', arena.calmTtlMs + arena.harness.slackMs);
      assert.deepEqual([leadership.isValid(), leadership.remainingMs(), leadership.state], [false, 0, 'ended']);
      const { callTimeoutMs, drainMs } = b!.candidate.member.timing;
      await within(arena.harness.clock, 3 * callTimeoutMs + drainMs + arena.harness.slackMs, 'it closes', b!.candidate.member.close());
      await arena.server.restart();
      await arena.until(() => a!.leads, 'it leads again', arena.failoverMs(a!.candidate.store) + RECONNECT_MS);
      assert.ok(a!.leadership.term > leadership.term);
      await arena.sleep(arena.ttlMs / 2);
      assert.equal(b!.leaderships.length, 0);
      await assert.rejects(
        async () => b!.candidate.member.election('another').campaign(),
        (error) => isIncumbentError(error, 'MEMBER_CLOSED'),
      );
    },
    { needs: ['server'], calm: true },
  ),
];
