/**
 * Tests each checker except two leaders, liveness, telemetry pairs and requests on made-up
 * histories: what it must find, and what it must not.
 */

import { describe, expect, it } from 'vitest';
import { Findings } from '../src/check/checker.ts';
import { LeftoverChecker } from '../src/check/leftovers.ts';
import { ObserverChecker } from '../src/check/observers.ts';
import { LeadershipEndChecker } from '../src/check/leadership-end.ts';
import { CalmStateChecker } from '../src/check/calm-state.ts';
import { PublishChecker, TermChecker } from '../src/check/terms.ts';
import type { ProcessView, LeadershipView, WorldEvent } from '../src/world/event.ts';
import { processOf, election, gone, handleOf, issued, broken, type Planted } from './histories.ts';

describe('findings', () => {
  it('keep the first few violations of each promise', () => {
    const findings = new Findings();
    for (let i = 0; i < 100; i += 1) findings.add('this may break', i, 'again');
    findings.add('this must hold', 100, 'it does not');
    expect(findings.all.map(({ promise }) => promise)).toContain('this must hold');
    expect(findings.all).toHaveLength(21);
  });
});

describe('the terms checker', () => {
  it('reports terms that do not rise', () => {
    expect(broken(new TermChecker(), issued(2n), issued(2n, 'b'))).toEqual(['terms rise']);
    expect(broken(new TermChecker(), issued(2n), issued(1n, 'b'))).toEqual(['terms rise']);
    expect(broken(new TermChecker(), issued(2n), issued(5n, 'b'))).toEqual([]);
  });

  it('reports a gap where the store counts terms, unless a fence has shown a higher term to the member', () => {
    const counted = (...events: readonly WorldEvent[]): readonly string[] => broken(new TermChecker({ areCounted: true }), ...events);
    const seen = (name: string, term: bigint): WorldEvent => ({ type: 'termSeen', process: processOf(name), election, term });
    expect(counted(issued(1n), issued(2n, 'b'))).toEqual([]);
    expect(counted(issued(1n), issued(3n, 'b'))).toEqual(['terms are counted']);
    expect(counted(issued(1n), seen('b#1', 6n), issued(7n, 'b'))).toEqual([]);
    expect(counted(issued(1n), seen('b#1', 6n), issued(8n, 'b'))).toEqual(['terms are counted']);
    expect(counted(issued(1n), seen('a#1', 6n), issued(7n, 'b'))).toEqual(['terms are counted']);
    const handle = handleOf('a#1', 1n);
    expect(counted(issued(1n), { type: 'ended', handle, reason: 'termBehind', lost: true, seenTerm: 4n }, issued(5n))).toEqual([]);
  });

  it("that are another's, or held twice, are found", () => {
    const [a, b] = [handleOf('a#1', 1n), handleOf('b#1', 1n)];
    expect(broken(new TermChecker(), issued(1n, 'a'), { type: 'elected', handle: b })).toEqual(['terms rise']);
    expect(
      broken(new TermChecker(), issued(1n, 'a'), { type: 'elected', handle: a }, { type: 'elected', handle: handleOf('a#2', 1n) }),
    ).toEqual(['terms rise']);
  });

  it('reports older terms in guarded and fenced writes, and accepts them in unguarded ones', () => {
    const stale = (to: 'guarded' | 'unguarded'): readonly string[] =>
      broken(new TermChecker(), issued(1n), issued(2n), { type: 'wrote', to, term: 1n });
    expect(stale('guarded')).toEqual(['stale writes are refused']);
    expect(stale('unguarded')).toEqual([]);
    const fenced = (term: bigint): WorldEvent => ({ type: 'wrote', to: 'fenced', term });
    expect(broken(new TermChecker(), issued(1n), issued(2n), fenced(1n), fenced(2n), fenced(1n))).toEqual(['stale writes are refused']);
  });
});

describe('the leadership-end checker', () => {
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

  it('accepts the right order', () => {
    expect(broken(checker(), ...whole(handleOf('a#1', 1n)))).toEqual([]);
  });

  it.each([1, 2, 3, 5])('reports an end without step %i', (left) => {
    const events = whole(handleOf('a#1', 1n)).filter((_, index) => index !== left);
    expect(broken(checker(), ...events)).toContain('one end, in order');
  });

  it('reports a second end, and an end without a reason', () => {
    const handle = handleOf('a#1', 1n);
    const again: WorldEvent = { type: 'ended', handle, reason: 'resigned', lost: false };
    expect(broken(checker(), ...whole(handle).toSpliced(5, 0, again))).toEqual(['one end, in order', 'one end, in order']);
    const other = handleOf('a#1', 1n);
    const silent: WorldEvent = { type: 'ended', handle: other, reason: '', lost: false };
    expect(broken(checker(), ...whole(other).toSpliced(3, 1, silent))).toEqual(['one end, in order']);
  });

  it('reports a release before the abort, or while the work runs and has time left', () => {
    const removed: WorldEvent = { type: 'recordGone', election, term: 1n, cause: { by: 'client', owner: 'a#1' } };
    expect(broken(checker(), ...whole(handleOf('a#1', 1n)).toSpliced(1, 0, removed))).toEqual(['one end, in order']);
    const handle = handleOf('a#1', 1n);
    const closed: WorldEvent = { type: 'ended', handle, reason: 'memberClosed', lost: false };
    expect(broken(checker(), ...whole(handle).toSpliced(3, 1, closed, removed))).toEqual(['one end, in order']);
    const settled = handleOf('a#1', 1n);
    const then: WorldEvent = { type: 'ended', handle: settled, reason: 'memberClosed', lost: false };
    expect(broken(checker(), ...whole(settled).toSpliced(3, 1, then).toSpliced(5, 0, removed))).toEqual([]);
  });

  it('reports that the entry is deleted while the work runs, where the record was deleted before', () => {
    const check = (reason: string, step: number): readonly string[] => {
      const handle = handleOf('a#1', 1n);
      const ended: WorldEvent = { type: 'ended', handle, reason, lost: true };
      const left: WorldEvent = { type: 'entryGone', election, term: 1n, cause: { by: 'client', owner: 'a#1' } };
      return broken(checker(), ...whole(handle).toSpliced(3, 1, ended).toSpliced(step, 0, gone(1n, 'operator'), left));
    };
    expect(check('recordDeleted', 4)).toEqual(['one end, in order']);
    expect(check('recordReplaced', 4)).toEqual(['one end, in order']);
    expect(check('recordDeleted', 5)).toEqual([]);
  });

  it('reports a process that leads again while its former work runs', () => {
    const [first, second] = [handleOf('a#1', 1n), handleOf('a#1', 2n)];
    const again = { ...second, process: first.process };
    const settled: WorldEvent = { type: 'workStopped', handle: first };
    const elected = (handle: LeadershipView): WorldEvent => ({ type: 'elected', handle });
    expect(broken(checker(), elected(first), elected(again))).toEqual(['one end, in order']);
    expect(broken(checker(), elected(first), settled, elected(again))).toEqual([]);
  });

  it('reports a deadline that leaves no time to drain', () => {
    const removed: WorldEvent = { type: 'recordGone', election, term: 1n, cause: { by: 'revoke', owner: 'a#1' } };
    const early = whole(handleOf('a#1', 1n)).toSpliced(4, 0, removed);
    expect(broken(checker(), ...early)).toEqual(['one end, in order']);
  });

  it('requires an end from a process that stopped in good order, and none from a process that died', () => {
    const handle = handleOf('a#1', 1n);
    const kill = (): void => {
      handle.process.state = 'dead';
    };
    const { process } = handle;
    const stopped: WorldEvent = { type: 'stopped', process, left: { timers: 0, holds: 0, watches: 0, leases: 0 } };
    expect(broken(checker(), { type: 'elected', handle }, stopped, kill, final)).toEqual(['one end, in order']);
    expect(broken(checker(), { type: 'elected', handle }, kill, { type: 'died', process }, final)).toEqual([]);
  });

  it('requires the release of a process that stopped after the faults were over', () => {
    const unreleased = (...before: readonly WorldEvent[]): readonly string[] => {
      const handle = handleOf('a#1', 1n);
      const stopped: WorldEvent = { type: 'stopped', process: handle.process, left: { timers: 0, holds: 0, watches: 0, leases: 0 } };
      return broken(checker(), ...whole(handle).toSpliced(5, 1, ...before, stopped));
    };
    expect(unreleased({ type: 'phase', phase: 'closing' })).toEqual(['one end, in order']);
    expect(unreleased()).toEqual([]);
  });
});

describe('the observer checker', () => {
  const observer: ProcessView = processOf('o#1');
  const shown = (term: bigint, reason?: string): WorldEvent => ({
    type: 'shown',
    observer,
    view: reason === undefined ? { state: 'leader', term } : { state: 'leader', term, reason },
  });

  it('reports an observer that goes back, unless the store went back', () => {
    expect(broken(new ObserverChecker(), issued(2n), shown(2n), shown(1n))).toEqual(['observers never go back']);
    expect(broken(new ObserverChecker(), issued(2n), shown(2n), shown(1n, 'termReset'))).toEqual([]);
  });

  it('reports a term shown as led again after its end, unless its record is in the store again', () => {
    const over: WorldEvent = { type: 'shown', observer, view: { state: 'vacant', term: 1n, reason: 'expired' } };
    const again: WorldEvent = { type: 'record', election, term: 1n, value: undefined };
    expect(broken(new ObserverChecker(), shown(1n), gone(1n, 'expiry'), over, shown(1n))).toEqual(['observers never go back']);
    expect(broken(new ObserverChecker(), shown(1n), gone(1n, 'expiry'), over, again, shown(1n))).toEqual([]);
  });

  it('reports a state shown by an observer that cannot know it', () => {
    const blind: WorldEvent = { type: 'isolated', process: observer };
    const unknown: WorldEvent = { type: 'shown', observer, view: { state: 'unknown' } };
    expect(broken(new ObserverChecker(), issued(1n), shown(1n), blind)).toEqual(['observers say when they do not know']);
    expect(broken(new ObserverChecker(), issued(1n), shown(1n), unknown, blind)).toEqual([]);
  });

  const record = (term: bigint, value: unknown): WorldEvent => ({ type: 'record', election, term, value });
  const value = (n: number): WorldEvent => ({ type: 'shown', observer, view: { state: 'leader', term: 1n, value: n } });

  it('reports a value shown after a later value of the same term', () => {
    const written = [issued(1n), record(1n, 1), record(1n, 2)];
    expect(broken(new ObserverChecker(), ...written, value(1), value(2))).toEqual([]);
    expect(broken(new ObserverChecker(), ...written, value(2), value(1))).toEqual(['observers never go back']);
    const unknown: WorldEvent = { type: 'shown', observer, view: { state: 'unknown' } };
    expect(broken(new ObserverChecker(), ...written, value(2), unknown, value(1))).toEqual(['observers never go back']);
    expect(broken(new ObserverChecker({ comparesValues: false }), ...written, value(2), value(1))).toEqual([]);
    expect(broken(new ObserverChecker(), ...written, value(2), record(1n, 1), value(1))).toEqual([]);
  });

  it('reports a value that is not the one in the record in the end, if the record has not changed lately', () => {
    const inCalm: WorldEvent = { type: 'phase', phase: 'deposed' };
    const shows = (n: number, lagMs: number): readonly string[] =>
      broken(new ObserverChecker({ lagMs }), issued(1n), record(1n, 1), record(1n, 2), value(n), inCalm);
    expect(shows(1, 15)).toEqual(['observers agree in the end']);
    expect(shows(1, 25)).toEqual([]);
    expect(shows(2, 15)).toEqual([]);
  });

  it('reports a release that an observer shows as an expiry', () => {
    const expired: WorldEvent = { type: 'shown', observer, view: { state: 'vacant', term: 1n, reason: 'expired' } };
    const ended: WorldEvent = { type: 'recordGone', election, term: 1n, cause: { by: 'client', owner: 'a#1' } };
    expect(broken(new ObserverChecker(), issued(1n), ended, expired)).toEqual(['observers tell why nobody leads']);
    expect(broken(new ObserverChecker(), issued(1n), expired)).toEqual(['observers tell why nobody leads']);
    expect(broken(new ObserverChecker(), issued(1n), gone(1n, 'expiry'), expired)).toEqual([]);
  });

  it('reports a state older than the start of the observer', () => {
    const begins: WorldEvent = { type: 'shown', observer, view: { state: 'unknown' } };
    expect(broken(new ObserverChecker(), issued(1n), issued(2n), begins, shown(1n))).toEqual(['observers are told nothing older']);
    expect(broken(new ObserverChecker(), issued(1n), begins, issued(2n), shown(1n), shown(2n))).toEqual([]);
    expect(broken(new ObserverChecker(), issued(1n), gone(1n, 'expiry'), begins, shown(1n))).toEqual(['observers are told nothing older']);
    expect(broken(new ObserverChecker(), issued(1n), begins, gone(1n, 'expiry'), shown(1n))).toEqual([]);
    expect(broken(new ObserverChecker(), record(1n, 1), record(1n, 2), begins, value(1))).toEqual(['observers are told nothing older']);
    expect(broken(new ObserverChecker(), record(1n, 1), begins, record(1n, 2), value(1), value(2))).toEqual([]);
    // The start of the observer is unknown.
    expect(broken(new ObserverChecker(), issued(1n), issued(2n), shown(1n))).toEqual([]);
  });

  it('checks several observers of a process separately, until they are closed', () => {
    const one = (name: string, term: bigint): WorldEvent => ({ type: 'shown', observer, view: { state: 'leader', term }, name });
    const blind: WorldEvent = { type: 'isolated', process: observer };
    const closed: WorldEvent = { type: 'observerClosed', observer, name: 'a' };
    expect(broken(new ObserverChecker(), one('a', 2n), one('b', 1n))).toEqual([]);
    expect(broken(new ObserverChecker(), one('a', 2n), one('b', 2n), one('a', 1n))).toEqual(['observers never go back']);
    expect(broken(new ObserverChecker(), issued(2n), one('a', 1n))).toEqual(['observers are told nothing older']);
    expect(broken(new ObserverChecker(), one('a', 1n), one('b', 1n), blind)).toHaveLength(2);
    expect(broken(new ObserverChecker(), one('a', 1n), one('b', 1n), closed, blind)).toHaveLength(1);
  });

  it('reports observers that disagree in calm', () => {
    const deposed: WorldEvent = { type: 'phase', phase: 'deposed' };
    expect(broken(new ObserverChecker(), issued(1n), shown(1n), issued(2n), deposed)).toEqual(['observers agree in the end']);
    expect(broken(new ObserverChecker(), issued(1n), shown(1n), deposed)).toEqual([]);
    expect(broken(new ObserverChecker(), issued(1n), shown(1n), issued(2n), { type: 'died', process: observer }, deposed)).toEqual([]);
    const sick: WorldEvent = { type: 'serverHung', server: 0, hung: 'reads' };
    const closing: WorldEvent = { type: 'phase', phase: 'closing' };
    expect(broken(new ObserverChecker(), shown(1n), sick, issued(2n), closing)).toEqual(['observers agree in the end']);
    expect(broken(new ObserverChecker(), shown(1n), sick, issued(2n), shown(2n), closing)).toEqual([]);
  });
});

describe('the leftover checker', () => {
  const process = processOf('m1#1');
  const checker = (): LeftoverChecker => new LeftoverChecker({ closeMs: 100 });
  const nothing = { timers: 0, holds: 0, watches: 0, leases: 0 };

  it.each(['timers', 'holds', 'watches'] as const)('reports remaining %s', (what) => {
    expect(broken(checker(), { type: 'stopped', process, left: { ...nothing, [what]: 1 } })).toEqual(['nothing is left behind']);
    expect(broken(checker(), { type: 'stopped', process, left: nothing })).toEqual([]);
  });

  it('reports a remaining session of a replaced process', () => {
    expect(broken(checker(), { type: 'replacedSessionKept', process })).toEqual(['who was replaced stops']);
    expect(broken(checker(), { type: 'replaced', process: 'm1#1', by: 'm1#2' })).toEqual([]);
  });

  it('reports remaining leases after the faults are over', () => {
    const left: WorldEvent = { type: 'stopped', process, left: { ...nothing, leases: 1 } };
    expect(broken(checker(), left)).toEqual([]);
    expect(broken(checker(), { type: 'phase', phase: 'closing' }, left)).toEqual(['nothing is left behind']);
  });

  it('reports remaining keys and leases at the end', () => {
    expect(broken(checker(), { type: 'final', keys: ['members/a'], leases: 0, watches: 0 })).toEqual(['nothing is left behind']);
    expect(broken(checker(), { type: 'final', keys: [], leases: 1, watches: 0 })).toEqual(['nothing is left behind']);
    expect(broken(checker(), { type: 'final', keys: [], leases: 0, watches: 0 })).toEqual([]);
  });

  it('reports a member with two entries in the queue', () => {
    expect(broken(checker(), { type: 'queue', names: ['a~x~1~fifo~', 'a~x~2~fifo~'], record: undefined })).toEqual([
      'no member has two entries in the queue',
    ]);
    expect(broken(checker(), { type: 'queue', names: ['a~x~1~fifo~', 'b~y~1~fifo~'], record: 1n })).toEqual([]);
  });

  it('reports a slow close, and errors outside the contract', () => {
    expect(broken(checker(), { type: 'closed', process, tookMs: 101 })).toEqual(['close is bounded']);
    expect(broken(checker(), { type: 'unexpectedError', process, error: new TypeError('planted') })).toEqual(['no unexpected error']);
  });
});

describe('the publish checker', () => {
  const process = processOf('a#1');
  const record = (term: bigint | undefined, value: unknown): WorldEvent => ({ type: 'record', election, term, value });
  const published: WorldEvent = { type: 'published', process, term: 1n, value: 'new' };

  it('reports a confirmed value that is not in the store', () => {
    expect(broken(new PublishChecker(), record(1n, 'old'), published)).toEqual(['what is published is there']);
    expect(broken(new PublishChecker(), record(1n, 'new'), published)).toEqual([]);
    expect(broken(new PublishChecker(), record(undefined, undefined), published)).toEqual([]);
    expect(broken(new PublishChecker(), record(2n, 'old'), published)).toEqual([]);
  });

  it('reports a new term that is not above the term that a fence has seen', () => {
    const handle = handleOf('a#1', 1n);
    const behind: WorldEvent = { type: 'ended', handle, reason: 'termBehind', lost: true, seenTerm: 4n };
    const elected = (term: bigint): WorldEvent => ({ type: 'elected', handle: { ...handle, term } });
    expect(broken(new PublishChecker(), behind, elected(4n))).toEqual(['terms pass those met']);
    expect(broken(new PublishChecker(), behind, elected(5n))).toEqual([]);
  });

  it('reports a process that leads again in a term of its own, of the same election', () => {
    const handle = handleOf('a#1', 4n);
    const elected = (term: bigint, of = handle.election): WorldEvent => ({ type: 'elected', handle: { ...handle, term, election: of } });
    expect(broken(new PublishChecker(), elected(4n), elected(4n))).toEqual(['terms pass those met']);
    expect(broken(new PublishChecker(), elected(4n), elected(5n), elected(4n, 'another'))).toEqual([]);
  });
});

describe('the calm-state checker', () => {
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

  it('reports a member without its own key', () => {
    expect(broken(new CalmStateChecker(election), members('a'), standing([entry, 'groups/all/a'], ['a']))).toEqual([
      'a member holds its id',
    ]);
    expect(broken(new CalmStateChecker(election), members('a'), standing(all, ['a']))).toEqual([]);
  });

  it('reports a member that is not in the queue and has not stopped campaigning', () => {
    const keys = ['members/a', 'groups/all/a'];
    expect(broken(new CalmStateChecker(election), members('a'), standing(keys, ['a']))).toEqual(['who campaigns is in the queue']);
    expect(broken(new CalmStateChecker(election), members('a'), { type: 'stoppedCampaigning', process }, standing(keys, ['a']))).toEqual(
      [],
    );
  });

  it('reports a member that is missing in its group, or in it after leaving', () => {
    expect(broken(new CalmStateChecker(election), members(), standing(['members/a', entry], []))).toEqual(['a member stays in its groups']);
    expect(broken(new CalmStateChecker(election), members('a'), { type: 'leftGroup', process }, standing(all, ['a']))).toEqual([
      'a member stays in its groups',
    ]);
    expect(broken(new CalmStateChecker(election), members(), { type: 'leftGroup', process }, standing(['members/a', entry], []))).toEqual(
      [],
    );
    expect(broken(new CalmStateChecker(election), logged, members(), standing(['members/a', entry], []))).toEqual([]);
  });

  it('expects nothing of a member whose id another process has taken', () => {
    const ended = (reason: string): WorldEvent => ({ type: 'logged', process, message: 'session ended', reason });
    expect(broken(new CalmStateChecker(election), members(), ended('replaced'), standing([], []))).toEqual([]);
    expect(broken(new CalmStateChecker(election), members(), ended('leaseExpired'), standing([], []))).toHaveLength(3);
  });

  it('reports a member that sees other members than the group has', () => {
    expect(broken(new CalmStateChecker(election), members('a', 'b'), standing(all, ['a']))).toEqual(['members of a group see one another']);
    expect(broken(new CalmStateChecker(election), standing(all, ['a']))).toEqual(['members of a group see one another']);
  });

  const phase = (name: 'deposed' | 'failover'): WorldEvent => ({ type: 'phase', phase: name });
  const queue = (...names: readonly string[]): WorldEvent => ({ type: 'queue', names, record: 1n });
  const elected = (name: string): WorldEvent => ({ type: 'elected', handle: handleOf(name, 2n) });

  it('reports a new leader that was not next in the queue', () => {
    const line = queue('a~x~1~fifo~', 'b~y~1~fifo~', 'c~z~1~fifo~');
    expect(broken(new CalmStateChecker(election), issued(1n), line, phase('failover'), elected('c#1'))).toEqual([
      'the next in line follows',
    ]);
    expect(broken(new CalmStateChecker(election), issued(1n), line, phase('failover'), elected('b#1'))).toEqual([]);
    expect(broken(new CalmStateChecker(election), issued(1n), line, phase('failover'), elected('late#1'))).toEqual([]);
    const back: WorldEvent = { type: 'requeued', election, name: 'c~z~1~fifo~' };
    expect(broken(new CalmStateChecker(election), issued(1n), back, line, phase('failover'), elected('c#1'))).toEqual([]);
    const ranked = queue('a~x~1~rendezvous~1', 'b~y~1~rendezvous~2', 'c~z~1~rendezvous~3');
    expect(broken(new CalmStateChecker(election), issued(1n), ranked, phase('failover'), elected('b#1'))).toEqual([
      'the next in line follows',
    ]);
    expect(broken(new CalmStateChecker(election), issued(1n), ranked, phase('failover'), elected('c#1'))).toEqual([]);
  });

  it('reports leadership that does not return to the candidate that the succession prefers', () => {
    const line = queue('a~x~1~priority~1', 'b~y~1~priority~2');
    expect(broken(new CalmStateChecker(election), issued(1n), line, phase('deposed'))).toEqual(['leadership comes back']);
    expect(broken(new CalmStateChecker(election), issued(1n, 'b'), line, phase('deposed'))).toEqual([]);
  });
});
