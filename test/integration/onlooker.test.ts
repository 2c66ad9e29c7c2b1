/** Tests which views of an observer count as untrue. */

import type { HistoryEvent } from '@incumbent/conformance';
import type { ElectionView } from 'incumbent';
import { describe, expect, it } from 'vitest';
import { untruths } from './checks/onlooker.ts';

const about = { election: 'controller', member: 'a', term: 1n };
const events: readonly HistoryEvent[] = [
  { type: 'elected', at: 100, ...about },
  { type: 'ended', at: 200, reason: 'resigned', ...about },
  { type: 'elected', at: 210, ...about, member: 'b', term: 2n },
];

function leader(memberId: string, term: bigint): ElectionView<unknown> {
  return { state: 'leader', memberId, term, incarnation: 'x', value: undefined };
}

const vacant: ElectionView<unknown> = { state: 'vacant', reason: 'resigned', term: 1n };
const unknown: ElectionView<unknown> = { state: 'unknown', since: 0 };

describe('an observer', () => {
  it.each<[string, readonly (readonly [number, ElectionView<unknown>])[]]>([
    [
      'the leaders, a moment late',
      [
        [110, leader('a', 1n)],
        [205, vacant],
        [215, leader('b', 2n)],
      ],
    ],
    [
      'the leaders, as late as it may',
      [
        [110, leader('a', 1n)],
        [220, leader('b', 2n)],
      ],
    ],
    [
      'a leader before that one knows',
      [
        [90, leader('a', 1n)],
        [205, leader('b', 2n)],
      ],
    ],
    [
      'nothing that it does not know',
      [
        [110, leader('a', 1n)],
        [215, unknown],
      ],
    ],
  ])('may show %s', (_, shown) => {
    expect(
      untruths(
        shown.map(([at, view]) => ({ at, view })),
        events,
        400,
        20,
      ),
    ).toEqual([]);
  });

  it.each<[string, readonly (readonly [number, ElectionView<unknown>])[]]>([
    [
      'the leader before for too long',
      [
        [110, leader('a', 1n)],
        [221, leader('b', 2n)],
      ],
    ],
    ['the leader before in the end', [[110, leader('a', 1n)]]],
    [
      'a leader that was none',
      [
        [110, leader('c', 1n)],
        [215, leader('b', 2n)],
      ],
    ],
    [
      'no leader where there is one',
      [
        [110, leader('a', 1n)],
        [205, vacant],
      ],
    ],
    [
      'the leader before, again',
      [
        [110, leader('a', 1n)],
        [205, leader('b', 2n)],
        [300, leader('a', 1n)],
        [330, leader('b', 2n)],
      ],
    ],
  ])('must not show %s', (_, shown) => {
    expect(
      untruths(
        shown.map(([at, view]) => ({ at, view })),
        events,
        400,
        20,
      ),
    ).toHaveLength(1);
  });
});
