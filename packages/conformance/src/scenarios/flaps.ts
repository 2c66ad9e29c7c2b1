/** Apache Curator's connection states, and client-go's health check: what a leader is told while its renewals fail. */

import assert from 'node:assert/strict';
import type { StoreCase } from '../case.ts';
import { endOf, type Arena, type FaultySeat } from '../election/arena.ts';
import { electionCasesOf } from '../election/define.ts';
import { Standing } from './standing.ts';

const define = electionCasesOf('Curator');
const defineClientGo = electionCasesOf('client-go');

/** Time for a link that has been mended to be used again, between a renewal that failed and the deadline. */
const PATIENT_TTLS = 2;

async function patientSeat(arena: Arena): Promise<FaultySeat> {
  return arena.faultySeat('a', { ttlMs: PATIENT_TTLS * arena.ttlMs });
}

export const flapCases: readonly StoreCase[] = [
  define(
    'A17 four short failures of the link and a long one: suspect and recovered each time, then lost, and elected once more (Curator TestLeaderLatch.testWithCircuitBreaker)',
    async (arena) => {
      const a = await patientSeat(arena);
      const told = arena.told(a, 'elected', 'sessionSuspect', 'sessionRecovered', 'sessionEnded', 'ended');
      const standing = new Standing(arena, a);
      await arena.until(() => standing.leads, 'a leads');
      const expected = ['elected'];
      const tells = async (...events: readonly string[]): Promise<void> => {
        expected.push(...events);
        await arena.until(
          () => told.length >= expected.length,
          `it is told: ${events.join(', ')}`,
          PATIENT_TTLS * arena.failoverMs(a.store),
        );
        assert.deepEqual(told, expected);
      };
      for (let flap = 0; flap < 4; flap += 1) {
        await a.faults.refuse();
        await tells('sessionSuspect');
        await a.faults.heal();
        await tells('sessionRecovered');
        // Where an acknowledgement proves less than a renewal, one alone does not bring back what the failure has cost.
        await arena.until(
          () => standing.leadership.remainingMs() > a.member.timing.ttlMs / 2,
          'there is time for the next failure',
          2 * arena.ttlMs,
        );
      }
      assert.deepEqual(standing.terms, [arena.term(1n)]);
      await a.faults.refuse();
      await tells('sessionSuspect', 'sessionEnded', 'ended');
      await a.faults.heal();
      await tells('elected');
      assert.equal(standing.held.length, 2);
      assert.ok(standing.leads);
    },
    { faults: ['refuse'] },
  ),

  define(
    'A14 leadership is suspect while renewals fail, and lost when the lease may end: the first is told, the second ends it (Curator TestLeaderLatch.testErrorPolicies)',
    async (arena) => {
      const a = await patientSeat(arena);
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
        PATIENT_TTLS * arena.ttlMs,
      );
      assert.equal(leadership.isValid(), true);
      assert.equal(leadership.signal.aborted, false);
      await arena.until(
        () => {
          see();
          return leadership.signal.aborted;
        },
        'it is lost',
        PATIENT_TTLS * arena.ttlMs + arena.harness.slackMs,
      );
      assert.equal((await endOf(arena, leadership, arena.soonMs)).reason, 'deadline');
      see();
      assert.deepEqual(states, ['valid', 'suspect', 'ended']);
      await a.faults.heal();
    },
    { faults: ['cut'] },
  ),

  defineClientGo(
    'C12 health tells of a late renewal, and of its coming after all, on every question and in between (client-go TestLeaderElectionHealthChecker)',
    async (arena) => {
      const a = await patientSeat(arena);
      assert.equal(a.member.state, 'idle');
      const leadership = await arena.campaign(a);
      assert.deepEqual([a.member.state, leadership.state], ['live', 'valid']);
      await a.faults.refuse();
      await arena.until(
        () => a.member.state === 'suspect' && leadership.state === 'suspect',
        'a late renewal is told of',
        PATIENT_TTLS * arena.ttlMs,
      );
      await a.faults.heal();
      await arena.until(() => a.member.state === 'live' && leadership.state === 'valid', 'it is well again', PATIENT_TTLS * arena.ttlMs);
      await leadership.resign();
      assert.deepEqual([a.member.state, leadership.state], ['live', 'ended']);
      await a.member.close();
      assert.equal(a.member.state, 'closed');
    },
    { faults: ['refuse'] },
  ),
];
