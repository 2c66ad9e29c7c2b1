/**
 * Scenarios of Apache Curator's connection states and of client-go's health check: the telemetry of
 * a leader whose renewals fail.
 */

import assert from 'node:assert/strict';
import type { StoreCase } from '../case.ts';
import { endOf } from '../election/arena.ts';
import { electionCasesOf } from '../election/define.ts';
import { StandingCandidate } from './standing-candidate.ts';

const define = electionCasesOf('Curator');
const defineClientGo = electionCasesOf('client-go');

export const flapCases: readonly StoreCase[] = [
  define(
    'A17 four short failures of the link and a long one: suspect and recovered each time, then lost, and elected once more (Curator TestLeaderLatch.testWithCircuitBreaker)',
    async (arena) => {
      const { store, faults } = await arena.openFaulty();
      // If the store permits frequent renewals, a failure is noticed sooner and leaves more time.
      const often = store.capabilities.renewalLag === undefined ? { renewEveryMs: arena.calmTtlMs / 6 } : {};
      const a = arena.memberOn(store, 'a', often);
      const reported = arena.recordedEvents(a, 'elected', 'sessionSuspect', 'sessionRecovered', 'sessionEnded', 'ended');
      const standing = new StandingCandidate(arena, a);
      await arena.until(() => standing.leads, 'a leads');
      const expected = ['elected'];
      const tells = async (...events: readonly string[]): Promise<void> => {
        expected.push(...events);
        await arena.until(() => reported.length >= expected.length, `telemetry reports: ${events.join(', ')}`, arena.failoverMs(store));
        assert.deepEqual(reported, expected);
      };
      for (let flap = 0; flap < 4; flap += 1) {
        await faults.refuse();
        await tells('sessionSuspect');
        await faults.heal();
        await tells('sessionRecovered');
        // If an acknowledgement proves less than its renewal, one alone does not restore the time
        // that the failure cost.
        await arena.until(
          () => standing.leadership.remainingMs() > a.member.timing.ttlMs / 2,
          'there is time for the next failure',
          arena.calmTtlMs,
        );
      }
      assert.deepEqual(standing.terms, [arena.term(1n)]);
      await faults.refuse();
      await tells('sessionSuspect', 'sessionEnded', 'ended');
      await faults.heal();
      await tells('elected');
      assert.equal(standing.leaderships.length, 2);
      assert.ok(standing.leads);
    },
    { faults: ['refuse'], calm: true },
  ),

  define(
    'A14 leadership is suspect while renewals fail, and lost when the lease may end: the first is reported, the second ends it (Curator TestLeaderLatch.testErrorPolicies)',
    async (arena) => {
      const a = await arena.faultyMember('a');
      const leadership = await arena.campaign(a);
      const states: string[] = [];
      const see = (): void => {
        if (states.at(-1) !== leadership.state) states.push(leadership.state);
      };
      see();
      await a.faults.cut();
      await arena.until(
        () => {
          see();
          return leadership.state === 'suspect';
        },
        'it is suspect',
        arena.calmTtlMs,
      );
      assert.equal(leadership.isValid(), true);
      assert.equal(leadership.signal.aborted, false);
      await arena.until(
        () => {
          see();
          return leadership.signal.aborted;
        },
        'it is lost',
        arena.calmTtlMs + arena.harness.slackMs,
      );
      assert.equal((await endOf(arena, leadership, arena.soonMs)).reason, 'deadline');
      see();
      assert.deepEqual(states, ['valid', 'suspect', 'ended']);
      await a.faults.heal();
    },
    { faults: ['cut'], calm: true },
  ),

  defineClientGo(
    'C12 health tells of a late renewal, and of its coming after all, on every question and in between (client-go TestLeaderElectionHealthChecker)',
    async (arena) => {
      const a = await arena.faultyMember('a');
      assert.equal(a.member.state, 'idle');
      const leadership = await arena.campaign(a);
      assert.deepEqual([a.member.state, leadership.state], ['live', 'valid']);
      await a.faults.refuse();
      await arena.until(() => a.member.state === 'suspect' && leadership.state === 'suspect', 'the member is suspect', arena.calmTtlMs);
      await a.faults.heal();
      await arena.until(() => a.member.state === 'live' && leadership.state === 'valid', 'it is well again', arena.calmTtlMs);
      await leadership.resign();
      assert.deepEqual([a.member.state, leadership.state], ['live', 'ended']);
      await a.member.close();
      assert.equal(a.member.state, 'closed');
    },
    { faults: ['refuse'], calm: true },
  ),
];
