/**
 * Telemetry reports the beginning and the end of each leadership once. The history checker verifies
 * this in every election case.
 */

import diagnosticsChannel from 'node:diagnostics_channel';
import { checkHistory, runCase, type HistoryEvent } from '@incumbent/conformance';
import { describe, expect, it } from 'vitest';
import { memoryHarness } from '../../memory/test/harness.ts';
import { electionCasesOf } from '../src/election/define.ts';

type Word = 'elected' | 'ended';

function reported(...words: readonly Word[]): readonly HistoryEvent[] {
  return words.map((event, at) => ({ type: 'reported', event, at, election: 'e', member: 'm', term: 1n }));
}

const unpaired: readonly (readonly Word[])[] = [
  ['elected'],
  ['ended'],
  ['ended', 'elected'],
  ['elected', 'elected', 'ended'],
  ['elected', 'ended', 'ended'],
];

describe('a history', () => {
  it('keeps its promises if telemetry reported one beginning and then one end', () => {
    expect(checkHistory(reported('elected', 'ended'))).toEqual([]);
  });

  it.each(unpaired.map((words) => [words.join(', '), words] as const))('breaks one if telemetry reported: %s', (order, words) => {
    expect(checkHistory(reported(...words))).toEqual([
      `telemetry reported for m (e, term 1): ${order}; expected one elected and one ended, in this order`,
    ]);
  });

  it('may lack the end if the process was killed, or the history is not over', () => {
    expect(checkHistory([...reported('elected'), { type: 'died', at: 9, member: 'm' }])).toEqual([]);
    expect(checkHistory(reported('elected'), { unfinished: true })).toEqual([]);
    expect(checkHistory(reported('ended'), { unfinished: true })).toHaveLength(1);
  });
});

describe('an election whose telemetry', () => {
  const skip = (reason: string): never => expect.unreachable(reason);

  /** One leadership, followed by additional telemetry events of its term or another one. */
  const planted = (words: readonly Word[], ofTerm: (term: bigint) => bigint): Promise<void> => {
    const body = electionCasesOf('election')('planted', async (arena) => {
      const candidate = await arena.member('a');
      const leadership = await arena.campaign(candidate);
      const { incarnation } = candidate.member;
      const fields = { incarnation, election: 'controller', term: ofTerm(leadership.term) };
      await leadership.resign();
      for (const word of words) diagnosticsChannel.channel(`incumbent:${word}`).publish(fields);
    });
    return runCase(body, memoryHarness(), skip);
  };

  it('reports each beginning and end once keeps its promises', async () => {
    await planted([], (term) => term);
    await planted(['elected', 'ended'], (term) => term + 1n);
  });

  it.each([
    ['an end twice', ['ended'], 0n],
    ['a beginning twice', ['elected'], 0n],
    ['a beginning without an end', ['elected'], 1n],
    ['an end without a beginning', ['ended'], 1n],
  ] as const)('tells %s breaks one', async (_, words, later) => {
    await expect(planted(words, (term) => term + later)).rejects.toThrow(/telemetry reported for a/);
  });
});
