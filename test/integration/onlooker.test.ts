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

function leader(memberId: string, term: bigint): ElectionView {
  return { state: 'leader', memberId, term, incarnation: 'x', value: undefined };
}

const vacant: ElectionView = { state: 'vacant', reason: 'resigned', term: 1n };
const unknown: ElectionView = { state: 'unknown', since: 0 };

/** What the observer shows, from the time of each key on. */
type Views = Readonly<Record<number, ElectionView>>;

const [a, b] = [leader('a', 1n), leader('b', 2n)];

function untruthsOf(views: Views): ReturnType<typeof untruths> {
  const shown = Object.entries(views).map(([at, view]) => ({ at: Number(at), view }));
  return untruths(shown, events, 400, 20);
}

describe('an observer', () => {
  it.each<[string, Views]>([
    ['the leaders, a moment late', { 110: a, 205: vacant, 215: b }],
    ['the leaders, as late as it may', { 110: a, 220: b }],
    ['a leader before that one knows', { 90: a, 205: b }],
    ['nothing that it does not know', { 110: a, 215: unknown }],
  ])('may show %s', (_, views) => {
    expect(untruthsOf(views)).toEqual([]);
  });

  it.each<[string, Views]>([
    ['the leader before for too long', { 110: a, 221: b }],
    ['the leader before in the end', { 110: a }],
    ['a leader that was none', { 110: leader('c', 1n), 215: b }],
    ['no leader where there is one', { 110: a, 205: vacant }],
    ['the leader before, again', { 110: a, 205: b, 300: a, 330: b }],
  ])('must not show %s', (_, views) => {
    expect(untruthsOf(views)).toHaveLength(1);
  });
});
