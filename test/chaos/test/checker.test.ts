import { describe, expect, it } from 'vitest';
import { judge } from '../check/verdict.ts';
import { readHistory, writeEvent, type ChaosEvent, type Of } from '../history.ts';
import { announced, fault, goodHistory, withChanged, without } from './histories.ts';

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
    ['a leader that is valid when a newer term has begun', withChanged(good, 'valid', 0, { at: 4_001 }), 'one valid leader'],
    ['who leads in a term that another had', withChanged(good, 'elected', 1, { term: 1n }), 'terms rise'],
    ['who leads in a term that is lower than the last', [...good, { type: 'elected', at: 4_500, who: 'm1#1', term: 1n }], 'terms rise'],
    [
      'a leadership without an end',
      without(good, 'ended').filter(({ type }) => type !== 'died'),
      'every leadership ends once, with a reason',
    ],
    ['a leadership without an end of a process that closed', without(good, 'ended', 1), 'every leadership ends once, with a reason'],
    ['one that ends twice', [...good, ...good.filter(({ type }) => type === 'ended')], 'every leadership ends once, with a reason'],
    ['one that ends without a reason', withChanged(good, 'ended', 0, { reason: '' }), 'every leadership ends once, with a reason'],
    ['validity after the end', withChanged(good, 'ended', 1, { at: 19_999 }), 'every leadership ends once, with a reason'],
    [
      'validity of a leader that was never elected',
      withChanged(good, 'valid', 0, { who: 'm2#1' }),
      'every leadership ends once, with a reason',
    ],
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
    ['nobody who leads in calm', withChanged(good, 'valid', 1, { at: 6_900 }), 'somebody leads in the end'],
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
    ['a member that does not answer in calm', without(good, 'answered', 1), 'observers agree in the end'],
    ['members none of which answers in calm', without(good, 'answered'), 'observers agree in the end'],
    [
      'a member that does not come back',
      [...good, { type: 'unrepaired', at: 6_000, fault: 'crash', target: 'm1', error: 'Error: no ready' }],
      'every fault is repaired',
    ],
    ['a member that ends by itself', withChanged(good, 'died', 0, { wanted: false }), 'a member stays'],
    ['a member that complains', withChanged(good, 'died', 0, { output: ['Warning: possible memory leak'] }), 'a member stays'],
    ['a member that gives up', [...good, { type: 'failed', at: 100, who: 'm2#1', error: 'no' }], 'a member stays'],
    ['an elected that is announced and never ends', without(good, 'announced', 2), 'elected and ended come in pairs'],
    [
      'an elected that is announced before the last one has ended',
      [...good, announced(4_500, 'm2#1', 'elected', 3n)],
      'elected and ended come in pairs',
    ],
    ['an ended that is announced without its elected', without(good, 'announced', 0), 'elected and ended come in pairs'],
    ['an ended that is announced twice', [...good, announced(6_011, 'm1#1', 'ended', 1n)], 'elected and ended come in pairs'],
    ['keys that are left', withChanged(good, 'left', 0, { keys: ['elections/controller/leader'] }), 'nothing is left'],
  ])('finds %s', (_what, history, promise) => {
    expect(broken(history)).toContain(promise);
  });
});

describe('members that are asked who leads', () => {
  const vacant = { view: { state: 'vacant', term: 2n }, read: undefined } as const;
  const endedAt = (at: number): readonly ChaosEvent[] => withChanged(withChanged(good, 'answered', 0, vacant), 'ended', 1, { at });

  it('are not compared with a leader that had lost its leadership by then, or loses it while they answer', () => {
    for (const at of [11_500, 12_005]) expect(broken(endedAt(at))).not.toContain('observers agree in the end');
  });

  it('are compared with a leader whose leadership ends later', () => {
    expect(broken(endedAt(20_010))).toContain('observers agree in the end');
  });
});

describe('what is excused', () => {
  const server = [
    fault('begins', 2_500, 'pauseServer', 's1'),
    fault('hit', 2_500, 'pauseServer', 's1'),
    fault('ends', 3_500, 'pauseServer', 's1'),
  ];
  /** The last renewal of m1's lease: the store guarantees it until 5,200. */
  const renewed: Of<'renewed'> = { type: 'renewed', from: 2_200, at: 2_210, who: 'm1#1', lease: 'l1', ttlMs: 3_000 };
  const gone = (at: number, lease = 'l1'): ChaosEvent => ({ type: 'leaseGone', at, lease, by: 's2' });
  const overlapping = (history: readonly ChaosEvent[], ms: number): readonly ChaosEvent[] =>
    withChanged(history, 'valid', 0, { at: 4_000 + ms });
  const old = (ms: number): readonly ChaosEvent[] => [...overlapping(goodHistory('an old etcd'), ms), ...server, renewed];

  it('is an overlap where the store, by its own records, ended the lease before the time it had vouched for', () => {
    expect(judge([...old(400), gone(3_900)])).toMatchObject({ violations: [], figures: { overlapsExcused: 1, longestOverlapMs: 400 } });
  });

  it('is no validity that lasts 2 s too long after a server was paused, while no lease ended early', () => {
    const late = withChanged(goodHistory('an old etcd'), 'valid', 0, { at: 5_100 });
    expect(broken([...late, ...server])).toEqual(['one valid leader']);
    // The lease ended at its time, and the leadership continued.
    const expired: ChaosEvent = { ...renewed, from: 900, at: 910 };
    expect(broken([...late, ...server, expired, gone(3_950)])).toEqual(['one valid leader']);
  });

  it('is no overlap beyond the time that the store had vouched for, and none whose lease the store kept', () => {
    expect(broken([...old(1_201), gone(3_900)])).toEqual(['one valid leader']);
    expect(broken(old(400))).toEqual(['one valid leader']);
    expect(broken([...old(400), gone(5_200)])).toEqual(['one valid leader']);
    expect(broken([...old(400), gone(3_900, 'l2')])).toEqual(['one valid leader']);
  });

  it('is nothing on a store that does not say that it ends leases early', () => {
    expect(broken([...overlapping(good, 400), ...server, renewed, gone(3_900)])).toEqual(['one valid leader']);
  });

  it('is an early end on the same conditions, and it is counted', () => {
    const end = { reason: 'leaseExpired', renewedMsAgo: 80, at: 4_100 };
    const history = [...withChanged(goodHistory('an old etcd'), 'ended', 0, end), ...server, renewed];
    expect(judge([...history, gone(3_900)])).toMatchObject({ violations: [], figures: { earlyEnds: 1 } });
    expect(broken(history)).toEqual(['no lease ends before its time']);
    expect(broken([...withChanged(good, 'ended', 0, end), ...server, renewed, gone(3_900)])).toEqual(['no lease ends before its time']);
  });

  it('is neither a term nor a stale write', () => {
    const history = [
      ...withChanged(withChanged(goodHistory('an old etcd'), 'elected', 1, { term: 1n }), 'wrote', 4, { accepted: true }),
      ...server,
      renewed,
      gone(3_900),
    ];
    expect(broken(history)).toEqual(expect.arrayContaining(['terms rise', 'stale writes are refused']));
  });

  it('is a record that an operator deletes, as long as nobody else is valid', () => {
    const deleted = withChanged(good, 'ended', 0, { reason: 'recordDeleted', renewedMsAgo: 80, at: 4_100 });
    const operator = [fault('begins', 3_800, 'deleteRecord', 'record'), fault('ends', 3_900, 'deleteRecord', 'record')];
    expect(broken([...deleted, ...operator])).toEqual([]);
    expect(broken([...withChanged(deleted, 'valid', 0, { at: 4_001 }), ...operator])).toEqual(['one valid leader']);
  });

  it('is an entry that an operator deletes, and what a silent watch tells of it only later', () => {
    const deleted = withChanged(good, 'ended', 0, { reason: 'entryDeleted', renewedMsAgo: 80, at: 10_000 });
    const operator = [fault('begins', 3_800, 'deleteEntry', 'record'), fault('ends', 3_900, 'deleteEntry', 'record')];
    const silence = [
      { ...fault('begins', 3_000, 'silenceWatches', 'm1'), id: 9 },
      { ...fault('ends', 9_900, 'silenceWatches', 'm1'), id: 9 },
    ];
    expect(broken([...withChanged(deleted, 'ended', 0, { at: 6_010 }), ...operator])).toEqual([]);
    expect(broken([...deleted, ...operator])).toContain('no lease ends before its time');
    expect(broken([...deleted, ...operator, ...silence])).not.toContain('no lease ends before its time');
  });

  it('is a loss in calm of a process that stood still', () => {
    const lost = withChanged(good, 'ended', 1, { at: 19_500, reason: 'deadline', lost: true, loopBlockedMs: 2_900 });
    expect(broken(withChanged(lost, 'valid', 1, { at: 19_400 }))).toEqual([]);
  });
});

describe('while one server of three is sick', () => {
  const three: readonly ChaosEvent[] = withChanged(good, 'run', 0, { servers: ['s1', 's2', 's3'] });
  const sick = (from: number, to: number): readonly ChaosEvent[] => [
    { ...fault('begins', from, 'pauseServer', 's1'), id: 7 },
    { ...fault('ends', to, 'pauseServer', 's1'), id: 7 },
  ];
  /** No leader is valid from `from` until 20,000. */
  const vacant = (from: number): readonly ChaosEvent[] => withChanged(three, 'valid', 1, { at: from });

  it('somebody leads within a bound', () => {
    const history = [...vacant(9_000), ...sick(8_000, 18_000)];
    expect(broken(history)).toContain('somebody leads while a quorum is healthy');
    expect(judge(history).figures.longestSickVacancyMs).toBe(9_000);
  });

  it('a leader that is there is none too few, and a short vacancy is allowed', () => {
    expect(judge([...three, ...sick(8_000, 18_000)])).toMatchObject({ violations: [], figures: { longestSickVacancyMs: 0 } });
    expect(judge([...vacant(10_001), ...sick(8_000, 18_000)])).toMatchObject({ violations: [], figures: { longestSickVacancyMs: 7_999 } });
  });

  it('somebody leads within a longer bound while watches are silent, of several members and on one server, too', () => {
    const silence = (id: number, target: string): readonly ChaosEvent[] => [
      { ...fault('begins', 6_500, 'silenceWatches', target), id },
      { ...fault('ends', 18_500, 'silenceWatches', target), id },
    ];
    const history = withChanged([...vacant(7_000), ...silence(7, 'm1'), ...silence(8, 'm2')], 'run', 0, { servers: ['s1'] });
    expect(broken(history)).toContain('somebody leads while a quorum is healthy');
    expect(broken(withChanged(history, 'valid', 1, { at: 7_501 }))).not.toContain('somebody leads while a quorum is healthy');
  });

  it('the bound counts only while no other fault is on, and where two servers are a quorum', () => {
    const other = [
      { ...fault('begins', 12_000, 'cut', 'm2'), id: 8 },
      { ...fault('ends', 13_000, 'cut', 'm2'), id: 8 },
    ];
    const history = [...vacant(9_000), ...sick(8_000, 18_000), ...other];
    expect(judge(history).figures.longestSickVacancyMs).toBe(5_000);
    expect(broken(history)).not.toContain('somebody leads while a quorum is healthy');
    const alone = withChanged([...vacant(9_000), ...sick(8_000, 18_000)], 'run', 0, { servers: ['s1'] });
    expect(broken(alone)).not.toContain('somebody leads while a quorum is healthy');
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
