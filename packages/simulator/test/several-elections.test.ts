/** Tests checkers on made-up histories of several elections. */

import { describe, expect, it } from 'vitest';
import { ElectionFilter } from '../src/check/checker.ts';
import { LeadershipEndChecker } from '../src/check/leadership-end.ts';
import { TermChecker } from '../src/check/terms.ts';
import type { WorldEvent } from '../src/world/event.ts';
import { broken, election, handleOf, issued, type Planted } from './histories.ts';

describe('with several elections', () => {
  const issuedIn = (other: string, term: bigint): WorldEvent => ({ type: 'issued', election: other, term, memberId: 'a', by: 'a#1' });
  const wrote: WorldEvent = { type: 'wrote', to: 'guarded', term: 1n };

  it('each has its own terms, and guarded writes belong to one', () => {
    expect(
      broken(new TermChecker({ writes: election }), issuedIn(election, 1n), issuedIn('other', 1n), issuedIn('other', 2n), wrote),
    ).toEqual([]);
    expect(broken(new TermChecker({ writes: election }), issuedIn('other', 1n), issuedIn(election, 2n), wrote)).toEqual([
      'stale writes are refused',
    ]);
  });

  it('one process may run work in two, but not twice in one', () => {
    const [a, b] = [handleOf('a#1', 1n), handleOf('a#1', 2n)];
    const order = (other: Planted): readonly string[] =>
      broken(
        new LeadershipEndChecker({ drainMs: 100, unnoticedMs: 5 }),
        { type: 'elected', handle: a },
        { type: 'elected', handle: other },
      );
    expect(order({ ...b, process: a.process })).toEqual(['one end, in order']);
    expect(order({ ...b, process: a.process, election: 'other' })).toEqual([]);
  });

  it('the filter passes only events of its election and of no election', () => {
    const seen: WorldEvent[] = [];
    const checker = new ElectionFilter(election, { onEvent: (event) => seen.push(event) });
    const request = (about: string): WorldEvent => ({ type: 'request', operation: 'read', by: 'a#1', about });
    const own: readonly WorldEvent[] = [
      issued(1n),
      { type: 'elected', handle: handleOf('a#1', 1n) },
      request(`elections/${election}/term`),
    ];
    const everybodys: readonly WorldEvent[] = [wrote, request('members/a'), { type: 'phase', phase: 'calm' }];
    const others: readonly WorldEvent[] = [
      issuedIn('other', 1n),
      { type: 'elected', handle: { ...handleOf('a#1', 1n), election: 'other' } },
      request('elections/other/term'),
    ];
    for (const event of [...own, ...others, ...everybodys]) checker.onEvent(event, 0);
    expect(seen).toEqual([...own, ...everybodys]);
  });
});
