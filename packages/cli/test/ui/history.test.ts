import type { ElectionView, LeaderView, PreviousTerm } from '@incumbent/core';
import { describe, expect, it } from 'vitest';

import { ElectionHistory } from '../../src/ui/history.ts';

function led(memberId: string, term: bigint, previous?: PreviousTerm): LeaderView {
  const view = { state: 'leader', term, memberId, incarnation: 'i', value: undefined } as const;
  return previous === undefined ? view : { ...view, previous };
}

function vacant(term: bigint, reason = 'expired'): ElectionView {
  return { state: 'vacant', term, reason };
}

function history(): ElectionHistory {
  let ids = 0;
  return new ElectionHistory('db', () => (ids += 1));
}

describe('the history of an election', () => {
  it('does not claim to know when a leadership began that it found', () => {
    const seen = history();
    seen.see(led('a', 7n), 1_000);
    expect(seen.since).toEqual({ at: 1_000, isOlder: true });
    expect(seen.ends).toEqual([]);
  });

  it('records an end with its reason, and completes it when the next leader is there', () => {
    const seen = history();
    seen.see(led('a', 1n), 1_000);
    seen.see(vacant(1n), 2_000);
    expect(seen.ends).toEqual([{ id: 1, election: 'db', term: '1', member: 'a', reason: 'expired', at: 2_000 }]);
    seen.see(led('b', 2n, { term: 1n, memberId: 'a', reason: 'expired', vacantForMs: 480 }), 2_500);
    expect(seen.ends).toEqual([
      { id: 1, election: 'db', term: '1', member: 'a', reason: 'expired', at: 2_000, next: { term: '2', member: 'b' }, vacantForMs: 480 },
    ]);
    expect(seen.spans.map(({ state, from, to }) => [state, from, to])).toEqual([
      ['leader', 1_000, 2_000],
      ['vacant', 2_000, 2_500],
      ['leader', 2_500, undefined],
    ]);
  });

  it('records a handover without a vacancy', () => {
    const seen = history();
    seen.see(led('a', 1n), 1_000);
    seen.see(led('b', 2n, { term: 1n, memberId: 'a', reason: 'handover' }), 2_000);
    expect(seen.ends).toEqual([
      { id: 1, election: 'db', term: '1', member: 'a', reason: 'handover', at: 2_000, next: { term: '2', member: 'b' } },
    ]);
    expect(seen.count).toBe(1);
  });

  it('corrects the reason of a vacancy that becomes known later', () => {
    const seen = history();
    seen.see(led('a', 1n), 1_000);
    seen.see(vacant(1n, 'recordDeleted'), 2_000);
    seen.see(vacant(1n, 'resigned'), 2_100);
    expect(seen.ends).toMatchObject([{ reason: 'resigned', at: 2_000 }]);
    expect(seen.spans).toMatchObject([{ state: 'leader' }, { state: 'vacant', reason: 'resigned', from: 2_000 }]);
  });

  it('keeps the beginning of a leadership that the store could not confirm for a while', () => {
    const seen = history();
    seen.see(vacant(1n), 500);
    seen.see(led('a', 2n), 1_000);
    seen.see({ state: 'unknown', since: 3_000, cause: new Error('away') }, 3_000);
    expect(seen.since).toEqual({ at: 3_000, isOlder: false });
    seen.see(led('a', 2n), 9_000);
    expect(seen.since).toEqual({ at: 1_000, isOlder: false });
    expect(seen.spans.map(({ state }) => state)).toEqual(['vacant', 'leader', 'unknown', 'leader']);
    expect(seen.ends).toEqual([]);
  });

  it('says that a leadership is older that began while the store was away', () => {
    const seen = history();
    seen.see(led('a', 1n), 1_000);
    seen.see({ state: 'unknown', since: 3_000, cause: new Error('away') }, 3_000);
    seen.see(led('b', 4n, { term: 3n, memberId: 'c', reason: 'resigned' }), 9_000);
    expect(seen.since).toEqual({ at: 9_000, isOlder: true });
    expect(seen.ends).toMatchObject([{ term: '3', member: 'c', reason: 'resigned' }]);
  });

  it('keeps a bounded number of terms', () => {
    const seen = history();
    for (let term = 1n; term <= 200n; term += 1n) seen.see(led(`m${term}`, term), Number(term));
    expect(seen.spans).toHaveLength(60);
    expect(seen.ends).toHaveLength(20);
    expect(seen.count).toBe(199);
  });
});
