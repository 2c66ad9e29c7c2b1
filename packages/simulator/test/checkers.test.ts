/**
 * Tests each checker except liveness and telemetry pairs on made-up histories: what it must find,
 * and what it must not.
 */

import { describe, expect, it } from 'vitest';
import { TwoLeadersChecker } from '../src/check/two-leaders.ts';
import { ElectionFilter } from '../src/check/checker.ts';
import { LeftoverChecker } from '../src/check/leftovers.ts';
import { ObserverChecker } from '../src/check/observers.ts';
import { LeadershipEndChecker } from '../src/check/leadership-end.ts';
import { CalmStateChecker } from '../src/check/calm-state.ts';
import { PublishChecker, TermChecker } from '../src/check/terms.ts';
import type { ProcessView, LeadershipView, WorldEvent } from '../src/world/event.ts';
import { processOf, election, gone, handleOf, issued, told, type Planted } from './histories.ts';

describe('validity', () => {
  const strict = (): TwoLeadersChecker => new TwoLeadersChecker({ overlapMs: 0 });

  it('is found where a newer term was issued', () => {
    const old = handleOf('a#1', 1n);
    expect(told(strict(), issued(1n), { type: 'elected', handle: old }, issued(2n, 'b'))).toEqual(['one valid leader']);
  });

  it('is found where the record is gone, but for an operator, who is told of by a watch', () => {
    const handle = handleOf('a#1', 1n);
    expect(told(strict(), issued(1n), { type: 'elected', handle }, gone(1n, 'expiry'))).toEqual(['one valid leader']);
    expect(told(strict(), issued(1n), { type: 'elected', handle }, gone(1n, 'revoke'))).toEqual(['one valid leader']);
    expect(told(strict(), issued(1n), { type: 'elected', handle }, gone(1n, 'operator'))).toEqual([]);
  });

  it('is found in who was told too late that it leads', () => {
    expect(told(strict(), issued(1n), issued(2n, 'b'), { type: 'elected', handle: handleOf('a#1', 1n) })).toEqual(['one valid leader']);
  });

  it('is nothing while the process stands still, and is asked first when it goes on', () => {
    const handle = handleOf('a#1', 1n);
    const checker = strict();
    handle.process.state = 'paused';
    expect(told(checker, issued(1n), { type: 'elected', handle }, issued(2n, 'b'))).toEqual([]);
    handle.process.state = 'running';
    expect(told(checker, { type: 'resumed', process: handle.process })).toEqual(['one valid leader']);
  });

  it('of a blocked process counts: code that runs may ask', () => {
    const handle = handleOf('a#1', 1n);
    handle.process.state = 'blocked';
    expect(told(strict(), issued(1n), { type: 'elected', handle }, issued(2n, 'b'))).toEqual(['one valid leader']);
  });

  it('that ended in time is no finding', () => {
    const handle = handleOf('a#1', 1n);
    const end = (): void => {
      handle.valid = false;
    };
    expect(told(strict(), issued(1n), { type: 'elected', handle }, end, gone(1n, 'expiry'), issued(2n, 'b'))).toEqual([]);
  });

  it('is measured where it is excused, and found where it lasts too long', () => {
    const handle = handleOf('a#1', 1n);
    const wait = issued(2n, 'b');
    const checker = new TwoLeadersChecker({ overlapMs: 25 });
    expect(told(checker, issued(1n), { type: 'elected', handle }, wait, wait, wait)).toEqual([]);
    expect(checker.longestOverlapMs).toBe(20);
    expect(told(new TwoLeadersChecker({ overlapMs: 25 }), issued(1n), { type: 'elected', handle }, wait, wait, wait, wait)).toEqual([
      'one valid leader',
    ]);
  });
});

describe('terms', () => {
  it('that do not rise are found', () => {
    expect(told(new TermChecker(), issued(2n), issued(2n, 'b'))).toEqual(['terms rise']);
    expect(told(new TermChecker(), issued(2n), issued(1n, 'b'))).toEqual(['terms rise']);
    expect(told(new TermChecker(), issued(2n), issued(5n, 'b'))).toEqual([]);
  });

  it("that are another's, or held twice, are found", () => {
    const [a, b] = [handleOf('a#1', 1n), handleOf('b#1', 1n)];
    expect(told(new TermChecker(), issued(1n, 'a'), { type: 'elected', handle: b })).toEqual(['terms rise']);
    expect(
      told(new TermChecker(), issued(1n, 'a'), { type: 'elected', handle: a }, { type: 'elected', handle: handleOf('a#2', 1n) }),
    ).toEqual(['terms rise']);
  });

  it('that are older are found in guarded and fenced writes, and expected in unguarded ones', () => {
    const stale = (to: 'guarded' | 'unguarded'): readonly string[] =>
      told(new TermChecker(), issued(1n), issued(2n), { type: 'wrote', to, term: 1n });
    expect(stale('guarded')).toEqual(['stale writes are refused']);
    expect(stale('unguarded')).toEqual([]);
    const fenced = (term: bigint): WorldEvent => ({ type: 'wrote', to: 'fenced', term });
    expect(told(new TermChecker(), issued(1n), issued(2n), fenced(1n), fenced(2n), fenced(1n))).toEqual(['stale writes are refused']);
  });
});

describe('of several elections', () => {
  const issuedIn = (other: string, term: bigint): WorldEvent => ({ type: 'issued', election: other, term, memberId: 'a', by: 'a#1' });
  const wrote: WorldEvent = { type: 'wrote', to: 'guarded', term: 1n };

  it('each has its own terms, and guarded writes are of one', () => {
    expect(told(new TermChecker(election), issuedIn(election, 1n), issuedIn('other', 1n), issuedIn('other', 2n), wrote)).toEqual([]);
    expect(told(new TermChecker(election), issuedIn('other', 1n), issuedIn(election, 2n), wrote)).toEqual(['stale writes are refused']);
  });

  it('one process may work in two, and not twice in one', () => {
    const [a, b] = [handleOf('a#1', 1n), handleOf('a#1', 2n)];
    const order = (other: Planted): readonly string[] =>
      told(new LeadershipEndChecker({ drainMs: 100, unnoticedMs: 5 }), { type: 'elected', handle: a }, { type: 'elected', handle: other });
    expect(order({ ...b, process: a.process })).toEqual(['one end, in order']);
    expect(order({ ...b, process: a.process, election: 'other' })).toEqual([]);
  });

  it('a checker that knows of one is told of no other', () => {
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

describe('the order of an end', () => {
  const final: WorldEvent = { type: 'final', keys: [], leases: 0, watches: 0 };
  const checker = (): LeadershipEndChecker => new LeadershipEndChecker({ drainMs: 100, unnoticedMs: 5 });

  function whole(handle: Planted): readonly (WorldEvent | (() => void))[] {
    const end = (): void => {
      handle.valid = false;
    };
    const lost = { type: 'ended', handle, reason: 'deadline', lost: true } as const;
    return [
      { type: 'elected', handle },
      end,
      { type: 'aborted', handle },
      lost,
      { type: 'workStopped', handle },
      { type: 'released', handle },
      final,
    ];
  }

  it('is no finding where it is kept', () => {
    expect(told(checker(), ...whole(handleOf('a#1', 1n)))).toEqual([]);
  });

  it.each([1, 2, 3, 5])('is found broken without its part %i', (left) => {
    const events = whole(handleOf('a#1', 1n)).filter((_, index) => index !== left);
    expect(told(checker(), ...events)).toContain('one end, in order');
  });

  it('is found broken by a second end, or one without a reason', () => {
    const handle = handleOf('a#1', 1n);
    const again: WorldEvent = { type: 'ended', handle, reason: 'resigned', lost: false };
    expect(told(checker(), ...whole(handle).toSpliced(5, 0, again))).toEqual(['one end, in order', 'one end, in order']);
    const other = handleOf('a#1', 1n);
    const silent: WorldEvent = { type: 'ended', handle: other, reason: '', lost: false };
    expect(told(checker(), ...whole(other).toSpliced(3, 1, silent))).toEqual(['one end, in order']);
  });

  it('is found broken by a release before the abort, or while the work runs and has time', () => {
    const removed: WorldEvent = { type: 'recordGone', election, term: 1n, cause: { by: 'client', owner: 'a#1' } };
    expect(told(checker(), ...whole(handleOf('a#1', 1n)).toSpliced(1, 0, removed))).toEqual(['one end, in order']);
    const handle = handleOf('a#1', 1n);
    const closed: WorldEvent = { type: 'ended', handle, reason: 'memberClosed', lost: false };
    expect(told(checker(), ...whole(handle).toSpliced(3, 1, closed, removed))).toEqual(['one end, in order']);
    const settled = handleOf('a#1', 1n);
    const then: WorldEvent = { type: 'ended', handle: settled, reason: 'memberClosed', lost: false };
    expect(told(checker(), ...whole(settled).toSpliced(3, 1, then).toSpliced(5, 0, removed))).toEqual([]);
  });

  it('is found broken where it leads again while its work runs', () => {
    const [first, second] = [handleOf('a#1', 1n), handleOf('a#1', 2n)];
    const again = { ...second, process: first.process };
    const settled: WorldEvent = { type: 'workStopped', handle: first };
    const elected = (handle: LeadershipView): WorldEvent => ({ type: 'elected', handle });
    expect(told(checker(), elected(first), elected(again))).toEqual(['one end, in order']);
    expect(told(checker(), elected(first), settled, elected(again))).toEqual([]);
  });

  it('is found broken by a deadline that leaves no time to drain', () => {
    const removed: WorldEvent = { type: 'recordGone', election, term: 1n, cause: { by: 'revoke', owner: 'a#1' } };
    const early = whole(handleOf('a#1', 1n)).toSpliced(4, 0, removed);
    expect(told(checker(), ...early)).toEqual(['one end, in order']);
  });

  it('asks nothing more of the dead', () => {
    const handle = handleOf('a#1', 1n);
    handle.process.state = 'dead';
    expect(told(checker(), { type: 'elected', handle }, final)).toEqual([]);
  });
});

describe('observers', () => {
  const observer: ProcessView = processOf('o#1');
  const shown = (term: bigint, reason?: string): WorldEvent => ({
    type: 'shown',
    observer,
    view: reason === undefined ? { state: 'leader', term } : { state: 'leader', term, reason },
  });

  it('that go back are found, unless the store has', () => {
    expect(told(new ObserverChecker(), issued(2n), shown(2n), shown(1n))).toEqual(['observers never go back']);
    expect(told(new ObserverChecker(), issued(2n), shown(2n), shown(1n, 'termReset'))).toEqual([]);
  });

  it('that show a term as led again after its end are found, unless the store has its record again', () => {
    const over: WorldEvent = { type: 'shown', observer, view: { state: 'vacant', term: 1n, reason: 'expired' } };
    const again: WorldEvent = { type: 'record', election, term: 1n, value: undefined };
    expect(told(new ObserverChecker(), shown(1n), gone(1n, 'expiry'), over, shown(1n))).toEqual(['observers never go back']);
    expect(told(new ObserverChecker(), shown(1n), gone(1n, 'expiry'), over, again, shown(1n))).toEqual([]);
  });

  it('that show what they cannot know are found', () => {
    const blind: WorldEvent = { type: 'isolated', process: observer };
    const unknown: WorldEvent = { type: 'shown', observer, view: { state: 'unknown' } };
    expect(told(new ObserverChecker(), issued(1n), shown(1n), blind)).toEqual(['observers say when they do not know']);
    expect(told(new ObserverChecker(), issued(1n), shown(1n), unknown, blind)).toEqual([]);
  });

  it('that take an end on purpose for an expiry are found', () => {
    const expired: WorldEvent = { type: 'shown', observer, view: { state: 'vacant', term: 1n, reason: 'expired' } };
    const ended: WorldEvent = { type: 'recordGone', election, term: 1n, cause: { by: 'client', owner: 'a#1' } };
    expect(told(new ObserverChecker(), issued(1n), ended, expired)).toEqual(['observers tell why nobody leads']);
    expect(told(new ObserverChecker(), issued(1n), expired)).toEqual(['observers tell why nobody leads']);
    expect(told(new ObserverChecker(), issued(1n), gone(1n, 'expiry'), expired)).toEqual([]);
  });

  it('that are told what is older than their beginning are found', () => {
    const begins: WorldEvent = { type: 'shown', observer, view: { state: 'unknown' } };
    expect(told(new ObserverChecker(), issued(1n), issued(2n), begins, shown(1n))).toEqual(['observers are told nothing older']);
    expect(told(new ObserverChecker(), issued(1n), begins, issued(2n), shown(1n), shown(2n))).toEqual([]);
    expect(told(new ObserverChecker(), issued(1n), gone(1n, 'expiry'), begins, shown(1n))).toEqual(['observers are told nothing older']);
    expect(told(new ObserverChecker(), issued(1n), begins, gone(1n, 'expiry'), shown(1n))).toEqual([]);
    const record = (term: bigint, value: unknown): WorldEvent => ({ type: 'record', election, term, value });
    const value = (n: number): WorldEvent => ({ type: 'shown', observer, view: { state: 'leader', term: 1n, value: n } });
    expect(told(new ObserverChecker(), record(1n, 1), record(1n, 2), begins, value(1))).toEqual(['observers are told nothing older']);
    expect(told(new ObserverChecker(), record(1n, 1), begins, record(1n, 2), value(1), value(2))).toEqual([]);
    // The start of the observer is unknown.
    expect(told(new ObserverChecker(), issued(1n), issued(2n), shown(1n))).toEqual([]);
  });

  it('are each for itself, where a process has several, until they are closed', () => {
    const one = (name: string, term: bigint): WorldEvent => ({ type: 'shown', observer, view: { state: 'leader', term }, name });
    const blind: WorldEvent = { type: 'isolated', process: observer };
    const closed: WorldEvent = { type: 'observerClosed', observer, name: 'a' };
    expect(told(new ObserverChecker(), one('a', 2n), one('b', 1n))).toEqual([]);
    expect(told(new ObserverChecker(), one('a', 2n), one('b', 2n), one('a', 1n))).toEqual(['observers never go back']);
    expect(told(new ObserverChecker(), issued(2n), one('a', 1n))).toEqual(['observers are told nothing older']);
    expect(told(new ObserverChecker(), one('a', 1n), one('b', 1n), blind)).toHaveLength(2);
    expect(told(new ObserverChecker(), one('a', 1n), one('b', 1n), closed, blind)).toHaveLength(1);
  });

  it('that do not agree in calm are found', () => {
    const deposed: WorldEvent = { type: 'phase', phase: 'deposed' };
    expect(told(new ObserverChecker(), issued(1n), shown(1n), issued(2n), deposed)).toEqual(['observers agree in the end']);
    expect(told(new ObserverChecker(), issued(1n), shown(1n), deposed)).toEqual([]);
    expect(told(new ObserverChecker(), issued(1n), shown(1n), issued(2n), { type: 'died', process: observer }, deposed)).toEqual([]);
    const sick: WorldEvent = { type: 'serverHung', server: 0, hung: 'reads' };
    const closing: WorldEvent = { type: 'phase', phase: 'closing' };
    expect(told(new ObserverChecker(), shown(1n), sick, issued(2n), closing)).toEqual(['observers agree in the end']);
    expect(told(new ObserverChecker(), shown(1n), sick, issued(2n), shown(2n), closing)).toEqual([]);
  });
});

describe('leftovers', () => {
  const process = processOf('m1#1');
  const checker = (): LeftoverChecker => new LeftoverChecker({ closeMs: 100 });
  const nothing = { timers: 0, holds: 0, watches: 0, leases: 0 };

  it.each(['timers', 'holds', 'watches'] as const)('of %s are found', (what) => {
    expect(told(checker(), { type: 'stopped', process, left: { ...nothing, [what]: 1 } })).toEqual(['nothing is left behind']);
    expect(told(checker(), { type: 'stopped', process, left: nothing })).toEqual([]);
  });

  it('of a session are found whose id another has taken', () => {
    expect(told(checker(), { type: 'replacedSessionKept', process })).toEqual(['who was replaced stops']);
    expect(told(checker(), { type: 'replaced', process: 'm1#1', by: 'm1#2' })).toEqual([]);
  });

  it('of leases are found once faults are over', () => {
    const left: WorldEvent = { type: 'stopped', process, left: { ...nothing, leases: 1 } };
    expect(told(checker(), left)).toEqual([]);
    expect(told(checker(), { type: 'phase', phase: 'closing' }, left)).toEqual(['nothing is left behind']);
  });

  it('of the store are found at the end', () => {
    expect(told(checker(), { type: 'final', keys: ['members/a'], leases: 0, watches: 0 })).toEqual(['nothing is left behind']);
    expect(told(checker(), { type: 'final', keys: [], leases: 1, watches: 0 })).toEqual(['nothing is left behind']);
    expect(told(checker(), { type: 'final', keys: [], leases: 0, watches: 0 })).toEqual([]);
  });

  it('of the queue are found: one that stands in it twice', () => {
    expect(told(checker(), { type: 'queue', names: ['a~x~1~fifo~', 'a~x~2~fifo~'], record: undefined })).toEqual([
      'no member has two entries in the queue',
    ]);
    expect(told(checker(), { type: 'queue', names: ['a~x~1~fifo~', 'b~y~1~fifo~'], record: 1n })).toEqual([]);
  });

  it('and a close that takes too long, and errors of no contract, are found', () => {
    expect(told(checker(), { type: 'closed', process, tookMs: 101 })).toEqual(['close is bounded']);
    expect(told(checker(), { type: 'unexpectedError', process, error: new TypeError('planted') })).toEqual(['errors are of the contract']);
  });
});

describe('values', () => {
  const process = processOf('a#1');
  const record = (term: bigint | undefined, value: unknown): WorldEvent => ({ type: 'record', election, term, value });
  const published: WorldEvent = { type: 'published', process, term: 1n, value: 'new' };

  it('that are not in the store when their publish is confirmed are found', () => {
    expect(told(new PublishChecker(), record(1n, 'old'), published)).toEqual(['what is published is there']);
    expect(told(new PublishChecker(), record(1n, 'new'), published)).toEqual([]);
    expect(told(new PublishChecker(), record(undefined, undefined), published)).toEqual([]);
    expect(told(new PublishChecker(), record(2n, 'old'), published)).toEqual([]);
  });

  it('of terms that do not pass what a fence has seen are found', () => {
    const handle = handleOf('a#1', 1n);
    const behind: WorldEvent = { type: 'ended', handle, reason: 'termBehind', lost: true, seenTerm: 4n };
    const elected = (term: bigint): WorldEvent => ({ type: 'elected', handle: { ...handle, term } });
    expect(told(new PublishChecker(), behind, elected(4n))).toEqual(['terms pass what a fence has seen']);
    expect(told(new PublishChecker(), behind, elected(5n))).toEqual([]);
  });
});

describe('standing, in calm', () => {
  const process = processOf('a#1');
  const entry = 'elections/jobs/candidates/a~x~1~fifo~';
  const all = ['members/a', entry, 'groups/all/a'];
  const members = (...ids: readonly string[]): WorldEvent => ({ type: 'groupMembers', process, ids });
  const standing = (keys: readonly string[], group: readonly string[]): WorldEvent => ({
    type: 'calmState',
    members: [{ process, keys, leases: 1 }],
    group,
  });
  const logged: WorldEvent = { type: 'logged', process, message: 'another process holds this member id' };

  it('is found broken where a member has no key of its own', () => {
    expect(told(new CalmStateChecker(election), members('a'), standing([entry, 'groups/all/a'], ['a']))).toEqual(['a member holds its id']);
    expect(told(new CalmStateChecker(election), members('a'), standing(all, ['a']))).toEqual([]);
  });

  it('is found broken where a member is not in the queue, and has not left it for good', () => {
    const keys = ['members/a', 'groups/all/a'];
    expect(told(new CalmStateChecker(election), members('a'), standing(keys, ['a']))).toEqual(['who campaigns is in the queue']);
    expect(told(new CalmStateChecker(election), members('a'), { type: 'stoppedCampaigning', process }, standing(keys, ['a']))).toEqual([]);
  });

  it('is found broken where a member is out of its group, or has left and is in it', () => {
    expect(told(new CalmStateChecker(election), members(), standing(['members/a', entry], []))).toEqual(['a member stays in its groups']);
    expect(told(new CalmStateChecker(election), members('a'), { type: 'leftGroup', process }, standing(all, ['a']))).toEqual([
      'a member stays in its groups',
    ]);
    expect(told(new CalmStateChecker(election), members(), { type: 'leftGroup', process }, standing(['members/a', entry], []))).toEqual([]);
    expect(told(new CalmStateChecker(election), logged, members(), standing(['members/a', entry], []))).toEqual([]);
  });

  it('is found broken where a member is shown others than are there', () => {
    expect(told(new CalmStateChecker(election), members('a', 'b'), standing(all, ['a']))).toEqual(['members of a group see one another']);
    expect(told(new CalmStateChecker(election), standing(all, ['a']))).toEqual(['members of a group see one another']);
  });

  const phase = (name: 'deposed' | 'failover'): WorldEvent => ({ type: 'phase', phase: name });
  const queue = (...names: readonly string[]): WorldEvent => ({ type: 'queue', names, record: 1n });
  const elected = (name: string): WorldEvent => ({ type: 'elected', handle: handleOf(name, 2n) });

  it('is found broken where another follows than is next', () => {
    const line = queue('a~x~1~fifo~', 'b~y~1~fifo~', 'c~z~1~fifo~');
    expect(told(new CalmStateChecker(election), issued(1n), line, phase('failover'), elected('c#1'))).toEqual(['the next in line follows']);
    expect(told(new CalmStateChecker(election), issued(1n), line, phase('failover'), elected('b#1'))).toEqual([]);
    expect(told(new CalmStateChecker(election), issued(1n), line, phase('failover'), elected('late#1'))).toEqual([]);
    const back: WorldEvent = { type: 'requeued', election, name: 'c~z~1~fifo~' };
    expect(told(new CalmStateChecker(election), issued(1n), back, line, phase('failover'), elected('c#1'))).toEqual([]);
    const ranked = queue('a~x~1~rendezvous~1', 'b~y~1~rendezvous~2', 'c~z~1~rendezvous~3');
    expect(told(new CalmStateChecker(election), issued(1n), ranked, phase('failover'), elected('b#1'))).toEqual([
      'the next in line follows',
    ]);
    expect(told(new CalmStateChecker(election), issued(1n), ranked, phase('failover'), elected('c#1'))).toEqual([]);
  });

  it('is found broken where leadership does not come back to whom the succession prefers', () => {
    const line = queue('a~x~1~priority~1', 'b~y~1~priority~2');
    expect(told(new CalmStateChecker(election), issued(1n), line, phase('deposed'))).toEqual(['leadership comes back']);
    expect(told(new CalmStateChecker(election), issued(1n, 'b'), line, phase('deposed'))).toEqual([]);
  });
});
