/** Telemetry tells each leadership's beginning and end once: the history is checked for that, and every election case with it. */

import diagnosticsChannel from 'node:diagnostics_channel';
import { checkHistory, runCase, type HistoryEvent } from '@incumbent/conformance';
import { describe, expect, it } from 'vitest';
import { memoryHarness } from '../../memory/test/harness.ts';
import { electionCasesOf } from '../src/election/define.ts';

type Word = 'elected' | 'ended';

function told(...words: readonly Word[]): readonly HistoryEvent[] {
  return words.map((event, at) => ({ type: 'told', event, at, election: 'e', member: 'm', term: 1n }));
}

const unpaired: readonly (readonly Word[])[] = [
  ['elected'],
  ['ended'],
  ['ended', 'elected'],
  ['elected', 'elected', 'ended'],
  ['elected', 'ended', 'ended'],
];

describe('a history', () => {
  it('keeps its promises where telemetry told of one beginning and then of one end', () => {
    expect(checkHistory(told('elected', 'ended'))).toEqual([]);
  });

  it.each(unpaired.map((words) => [words.join(', '), words] as const))('breaks one where telemetry told: %s', (order, words) => {
    expect(checkHistory(told(...words))).toEqual([
      `telemetry told of m (e, term 1): ${order}; expected one elected and one ended, in this order`,
    ]);
  });

  it('may lack the end where the process was killed, or the history is not over', () => {
    expect(checkHistory([...told('elected'), { type: 'died', at: 9, member: 'm' }])).toEqual([]);
    expect(checkHistory(told('elected'), { unfinished: true })).toEqual([]);
    expect(checkHistory(told('ended'), { unfinished: true })).toHaveLength(1);
  });
});

describe('an election whose telemetry', () => {
  const skip = (reason: string): never => expect.unreachable(reason);

  /** One leadership; then the member's telemetry tells these words besides, of that term or of another one. */
  const planted = (words: readonly Word[], ofTerm: (term: bigint) => bigint): Promise<void> => {
    const body = electionCasesOf('election')('planted', async (arena) => {
      const seat = await arena.seat('a');
      const leadership = await arena.campaign(seat);
      const { incarnation } = seat.member;
      const fields = { incarnation, election: 'controller', term: ofTerm(leadership.term) };
      await leadership.resign();
      for (const word of words) diagnosticsChannel.channel(`incumbent:${word}`).publish(fields);
    });
    return runCase(body, memoryHarness(), skip);
  };

  it('tells each beginning and end once keeps its promises', async () => {
    await planted([], (term) => term);
    await planted(['elected', 'ended'], (term) => term + 1n);
  });

  it.each([
    ['an end twice', ['ended'], 0n],
    ['a beginning twice', ['elected'], 0n],
    ['a beginning without an end', ['elected'], 1n],
    ['an end without a beginning', ['ended'], 1n],
  ] as const)('tells %s breaks one', async (_, words, later) => {
    await expect(planted(words, (term) => term + later)).rejects.toThrow(/telemetry told of a/);
  });
});
