import { describe, expect, it } from 'vitest';
import { judge } from '../check/verdict.ts';
import { readHistory, writeEvent, type ChaosEvent, type Excuse } from '../history.ts';
import { fault, goodHistory, withChanged, without } from './histories.ts';

const good: readonly ChaosEvent[] = goodHistory();

function broken(history: readonly ChaosEvent[]): readonly string[] {
  return [...new Set(judge(history).violations.map(({ promise }) => promise))];
}

describe('the checker of histories', () => {
  it('finds nothing wrong where all goes well, whatever the order of the lines', () => {
    for (const history of [good, good.toReversed()]) {
      const { violations, missing, figures } = judge(history);
      expect({ violations, missing }).toEqual({ violations: [], missing: [] });
      expect(figures).toMatchObject({
        faults: 1,
        terms: 2,
        failovers: 1,
        writes: 2,
        refusedByFence: 1,
        staleAtTwin: 1,
        refusedByStore: 1,
        longestVacancyMs: 0,
      });
    }
  });

  it('reads a history as it was written', () => {
    expect(readHistory(good.map(writeEvent).join('\n'))).toEqual(good);
  });

  it.each<readonly [what: string, history: readonly ChaosEvent[], promise: string]>([
    ['who believes when a newer one has begun', withChanged(good, 'believed', 0, { at: 4_001 }), 'one believes'],
    ['who leads in a term that another had', withChanged(good, 'elected', 1, { term: 1n }), 'terms rise'],
    ['who leads in a term that is lower than the last', [...good, { type: 'elected', at: 4_500, who: 'm1#1', term: 1n }], 'terms rise'],
    [
      'a leadership without an end',
      without(good, 'ended').filter(({ type }) => type !== 'died'),
      'every leadership ends once, with a reason',
    ],
    ['one that ends twice', [...good, ...good.filter(({ type }) => type === 'ended')], 'every leadership ends once, with a reason'],
    ['one that ends without a reason', withChanged(good, 'ended', 0, { reason: '' }), 'every leadership ends once, with a reason'],
    ['belief after the end', withChanged(good, 'ended', 1, { at: 19_999 }), 'every leadership ends once, with a reason'],
    ['belief of one that was never told', withChanged(good, 'believed', 0, { who: 'm2#1' }), 'every leadership ends once, with a reason'],
    ['a stale write that passes the fence', withChanged(good, 'wrote', 4, { accepted: true }), 'stale writes are refused'],
    ['a rightful write that the fence refuses', withChanged(good, 'wrote', 2, { accepted: false }), 'stale writes are refused'],
    ['a stale write that passes the guard', withChanged(good, 'swapped', 3, { outcome: 'swapped' }), 'stale writes are refused'],
    ['an acknowledged write that is gone', withChanged(good, 'kept', 0, { n: 1 }), 'acknowledged writes stay'],
    ['an acknowledged write of which nothing is there', without(good, 'kept'), 'acknowledged writes stay'],
    [
      'a lease that ends while it is renewed',
      withChanged(good, 'ended', 0, { reason: 'leaseExpired', renewedMsAgo: 80 }),
      'no lease ends before its time',
    ],
    [
      'a record that is gone by nobody’s hand',
      withChanged(good, 'ended', 0, { reason: 'recordDeleted', renewedMsAgo: 80 }),
      'no lease ends before its time',
    ],
    [
      'a leadership that is lost in calm',
      withChanged(good, 'ended', 1, { at: 19_000, reason: 'deadline', lost: true }),
      'whoever leads in calm leads on',
    ],
    ['nobody who leads in calm', withChanged(good, 'believed', 1, { at: 6_900 }), 'somebody leads in the end'],
    ['somebody who leads too late', withChanged(good, 'phase', 1, { at: -9_000 }), 'somebody leads in the end'],
    ['an observer that goes back', withChanged(good, 'shown', 1, { term: 0n }), 'observers never go back'],
    [
      'an observer that is wrong in calm',
      withChanged(good, 'answered', 0, { view: { state: 'leader', term: 1n } }),
      'observers agree in the end',
    ],
    [
      'an observer that knows nothing in calm',
      withChanged(good, 'answered', 0, { view: { state: 'unknown' } }),
      'observers agree in the end',
    ],
    ['a read that is wrong in calm', withChanged(good, 'answered', 1, { read: undefined }), 'observers agree in the end'],
    ['a member that ends by itself', withChanged(good, 'died', 0, { wanted: false }), 'a member stays'],
    ['a member that complains', withChanged(good, 'died', 0, { output: ['Warning: possible memory leak'] }), 'a member stays'],
    ['a member that gives up', [...good, { type: 'gaveUp', at: 100, who: 'm2#1', error: 'no' }], 'a member stays'],
    ['keys that are left', withChanged(good, 'left', 0, { keys: ['elections/controller/leader'] }), 'nothing is left'],
  ])('finds %s', (_what, history, promise) => {
    expect(broken(history)).toContain(promise);
  });
});

describe('what is excused', () => {
  const excuse: Excuse = { why: 'an old etcd', overlapMs: 500, after: ['pauseServer'], withinMs: 1_000 };
  const server = [
    fault('begins', 2_500, 'pauseServer', 's1'),
    fault('hit', 2_500, 'pauseServer', 's1'),
    fault('ends', 3_500, 'pauseServer', 's1'),
  ];
  const overlapping = (history: readonly ChaosEvent[], ms: number): readonly ChaosEvent[] =>
    withChanged(history, 'believed', 0, { at: 4_000 + ms });

  it('is an overlap on a store that is known for it, after a fault that makes it do so, and no longer than it may last', () => {
    const history = [...overlapping(goodHistory(excuse), 400), ...server];
    expect(judge(history)).toMatchObject({ violations: [], figures: { overlapsExcused: 1, longestOverlapMs: 400 } });
    expect(broken([...overlapping(goodHistory(excuse), 501), ...server])).toEqual(['one believes']);
    expect(broken(overlapping(goodHistory(excuse), 400))).toEqual(['one believes']);
    expect(broken([...overlapping(good, 400), ...server])).toEqual(['one believes']);
  });

  it('is an early end on the same conditions, and it is counted', () => {
    const end = { reason: 'leaseExpired', renewedMsAgo: 80, at: 4_100 };
    const history = [...withChanged(goodHistory(excuse), 'ended', 0, end), ...server];
    expect(judge(history)).toMatchObject({ violations: [], figures: { earlyEnds: 1 } });
    expect(broken([...withChanged(good, 'ended', 0, end), ...server])).toEqual(['no lease ends before its time']);
  });

  it('is neither a term nor a stale write', () => {
    const history = [
      ...withChanged(withChanged(goodHistory(excuse), 'elected', 1, { term: 1n }), 'wrote', 4, { accepted: true }),
      ...server,
    ];
    expect(broken(history)).toEqual(expect.arrayContaining(['terms rise', 'stale writes are refused']));
  });

  it('is a record that an operator deletes, as long as nobody else believes', () => {
    const deleted = withChanged(good, 'ended', 0, { reason: 'recordDeleted', renewedMsAgo: 80, at: 4_100 });
    const operator = [fault('begins', 3_800, 'deleteRecord', 'record'), fault('ends', 3_900, 'deleteRecord', 'record')];
    expect(broken([...deleted, ...operator])).toEqual([]);
    expect(broken([...withChanged(deleted, 'believed', 0, { at: 4_001 }), ...operator])).toEqual(['one believes']);
  });

  it('is a loss in calm of a process that stood still', () => {
    const lost = withChanged(good, 'ended', 1, { at: 19_500, reason: 'deadline', lost: true, loopBlockedMs: 2_900 });
    expect(broken(withChanged(lost, 'believed', 1, { at: 19_400 }))).toEqual([]);
  });
});

describe('a quiet run', () => {
  it('is no pass', () => {
    const quiet = good.filter((event) => !(event.type === 'elected' && event.term === 2n) && event.type !== 'wrote');
    expect(judge(quiet).missing).toEqual(['terms: 1, and not 2', 'failovers: 0, and not 1', 'writes: 0, and not 1']);
  });

  it('says which faults never hit, and that nobody was asked', () => {
    const missed = [2, 3, 4].flatMap((id) => [
      { ...fault('begins', 1_000 * id, 'cut'), id },
      { ...fault('missed', 1_000 * id, 'cut'), id },
    ]);
    expect(judge([...without(good, 'answered'), ...missed]).missing).toEqual(['cut never hit, of 3', 'nobody was asked who leads']);
  });

  it('says that no wall clock was seen to jump', () => {
    const set = [2, 3, 4].flatMap((id) => [
      { ...fault('begins', 1_000 * id, 'wallJump'), id },
      { ...fault('hit', 1_000 * id, 'wallJump'), id },
    ]);
    expect(judge([...good, ...set]).missing).toEqual(['no wall clock was seen to jump, of 3 that were set']);
    expect(judge([...good, ...set, { type: 'jumped', at: 2_500, who: 'm1#1', byMs: -60_000 }]).missing).toEqual([]);
  });

  it('must, when it is long, have seen stale writes and what becomes of them', () => {
    const long = [...good.filter(({ at }) => at < 6_000), { type: 'died', at: 700_000, who: 'm1#1', wanted: true, output: [] }] as const;
    expect(judge(long).missing).toEqual(
      expect.arrayContaining(['refusedByFence: 0, and not 1', 'staleAtTwin: 0, and not 1', 'refusedByStore: 0, and not 1']),
    );
  });
});
