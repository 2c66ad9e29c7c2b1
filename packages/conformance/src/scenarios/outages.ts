/** The store itself is killed, and started again: what Curator's tests do to a server under a latch and a selector. */

import assert from 'node:assert/strict';
import { isIncumbentError } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import type { Arena } from '../election/arena.ts';
import { electionCasesOf } from '../election/define.ts';
import type { Server } from '../harness.ts';
import { within } from '../time.ts';
import { idsInQueue, oneLeads, StandingCandidate, standInOrder } from './standing-candidate.ts';

const define = electionCasesOf('outages');

/** How long clients may take to find a server that is back, beside all else. */
const RECONNECT_MS = 10_000;

function serverOf({ harness: { server } }: Arena): Server {
  assert.ok(server !== undefined, 'the case names what it needs');
  return server;
}

export const outageCases: readonly StoreCase[] = [
  define(
    'A04 the server is lost: soon nobody leads, and who watches knows nothing; it is back: exactly one leads (Curator TestLeaderLatch.testLostConnection)',
    async (arena) => {
      const server = serverOf(arena);
      const standing = await standInOrder(arena, 'a', 'b', 'c');
      const client = await arena.open();
      const observer = arena.observer(client);
      await arena.sees(observer, (view) => view.state === 'leader', 'the leader');
      const { term } = standing[0]!.leadership;
      await server.kill();
      await arena.until(() => standing.every(({ leads }) => !leads), 'nobody leads', arena.calmTtlMs + arena.harness.slackMs);
      await arena.sees(observer, (view) => view.state === 'unknown', 'that it does not know', RECONNECT_MS);
      await server.restart();
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
      const server = serverOf(arena);
      const candidates = [await arena.member('a'), await arena.member('b')];
      const reported = candidates.map((candidate) => arena.recordedEvents(candidate, 'elected', 'ended'));
      await server.kill();
      const standing = candidates.map((candidate) => new StandingCandidate(arena, candidate));
      await arena.sleep(arena.ttlMs);
      assert.deepEqual(reported, [[], []]);
      await server.restart();
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
      const server = serverOf(arena);
      const standing = await standInOrder(arena, 'a', 'b');
      const [a] = standing;
      await server.kill();
      await server.restart();
      const backMs = arena.failoverMs(a!.candidate.store) + RECONNECT_MS;
      // One of which the calls are answered again.
      await arena.until(async () => (await idsInQueue(arena, a!.candidate)).split(' ').length === 2, 'both stand again', backMs);
      const leader = await oneLeads(arena, standing, backMs);
      const other = standing.find((one) => one !== leader);
      await leader.candidate.member.close();
      await arena.until(() => other!.leads, 'the other one leads', backMs);
    },
    { needs: ['server'], calm: true },
  ),

  define(
    'A25 A28 the server dies under a leader: belief ends with the lease, to close takes no longer than it may, and who was closed never leads (Curator TestLeaderSelector.testServerDying, TestLeaderSelectorCluster.testLostRestart)',
    async (arena) => {
      const server = serverOf(arena);
      const [a, b] = await standInOrder(arena, 'a', 'b');
      const { leadership } = a!;
      await server.kill();
      await arena.until(() => leadership.signal.aborted, 'the leader learns of it', arena.calmTtlMs + arena.harness.slackMs);
      assert.deepEqual([leadership.isValid(), leadership.remainingMs(), leadership.state], [false, 0, 'ended']);
      const { callTimeoutMs, drainMs } = b!.candidate.member.timing;
      await within(arena.harness.clock, 3 * callTimeoutMs + drainMs + arena.harness.slackMs, 'it closes', b!.candidate.member.close());
      await server.restart();
      await arena.until(() => a!.leads, 'it leads again', arena.failoverMs(a!.candidate.store) + RECONNECT_MS);
      assert.ok(a!.leadership.term > leadership.term);
      await arena.sleep(arena.ttlMs / 2);
      assert.equal(b!.held.length, 0);
      await assert.rejects(
        async () => b!.candidate.member.election('another').campaign(),
        (error) => isIncumbentError(error, 'MEMBER_CLOSED'),
      );
    },
    { needs: ['server'], calm: true },
  ),
];
