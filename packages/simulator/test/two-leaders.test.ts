/**
 * Tests the checker of two leaders on made-up histories: what it must find, and what it must not.
 */

import { describe, expect, it } from 'vitest';
import { TwoLeadersChecker } from '../src/check/two-leaders.ts';
import type { LeadershipView, WorldEvent } from '../src/world/event.ts';
import { broken, gone, handleOf, issued, leaseEnded } from './histories.ts';

describe('the two-leaders checker', () => {
  const strict = (): TwoLeadersChecker => new TwoLeadersChecker({ overlapMs: 0 });

  it('reports a valid leader after a newer term was issued', () => {
    const old = handleOf('a#1', 1n);
    expect(broken(strict(), issued(1n), { type: 'elected', handle: old }, issued(2n, 'b'))).toEqual(['one valid leader']);
  });

  it('reports a valid leader whose record is gone, except if an operator deleted it, which a watch must show first', () => {
    const handle = handleOf('a#1', 1n);
    expect(broken(strict(), issued(1n), { type: 'elected', handle }, gone(1n, 'expiry'))).toEqual(['one valid leader']);
    expect(broken(strict(), issued(1n), { type: 'elected', handle }, gone(1n, 'revoke'))).toEqual(['one valid leader']);
    expect(broken(strict(), issued(1n), { type: 'elected', handle }, gone(1n, 'operator'))).toEqual([]);
  });

  it('reports a leader whose election was reported after a newer term', () => {
    expect(broken(strict(), issued(1n), issued(2n, 'b'), { type: 'elected', handle: handleOf('a#1', 1n) })).toEqual(['one valid leader']);
  });

  it('does not check a paused process, and checks it first when it resumes', () => {
    const handle = handleOf('a#1', 1n);
    const checker = strict();
    handle.process.state = 'paused';
    expect(broken(checker, issued(1n), { type: 'elected', handle }, issued(2n, 'b'))).toEqual([]);
    handle.process.state = 'running';
    expect(broken(checker, { type: 'resumed', process: handle.process })).toEqual(['one valid leader']);
  });

  it('checks a blocked process, because its running code may call isValid', () => {
    const handle = handleOf('a#1', 1n);
    handle.process.state = 'blocked';
    expect(broken(strict(), issued(1n), { type: 'elected', handle }, issued(2n, 'b'))).toEqual(['one valid leader']);
  });

  it('reports time that is left after the end, and another state than `ended`', () => {
    const check = (lie: Partial<Pick<LeadershipView, 'remainingMs' | 'state'>>, last: (handle: LeadershipView) => WorldEvent) => {
      const handle: LeadershipView = { ...handleOf('a#1', 1n), isValid: () => false, remainingMs: () => 0, state: 'ended', ...lie };
      return broken(strict(), issued(1n), { type: 'elected', handle }, last(handle));
    };
    const promise = 'a leader that is not valid has no time left';
    const overtaken = (): WorldEvent => issued(2n, 'b');
    const resigned = (handle: LeadershipView): WorldEvent => ({ type: 'ended', handle, reason: 'resigned', lost: false });
    for (const last of [overtaken, resigned]) {
      expect(check({ remainingMs: () => 7 }, last)).toEqual([promise]);
      expect(check({ remainingMs: () => -7 }, last)).toEqual([promise]);
      expect(check({ state: 'suspect' }, last)).toEqual([promise]);
      expect(check({}, last)).toEqual([]);
    }
  });

  it('accepts validity that ended in time', () => {
    const handle = handleOf('a#1', 1n);
    const end = (): void => {
      handle.valid = false;
    };
    expect(broken(strict(), issued(1n), { type: 'elected', handle }, end, gone(1n, 'expiry'), issued(2n, 'b'))).toEqual([]);
  });

  it('measures an overlap within the allowance, and reports a longer one', () => {
    const handle = handleOf('a#1', 1n);
    const wait = issued(2n, 'b');
    const checker = new TwoLeadersChecker({ overlapMs: 25 });
    const begin = [issued(1n), { type: 'elected', handle }, leaseEnded('a#1')] as const;
    expect(broken(checker, ...begin, wait, wait, wait)).toEqual([]);
    expect(checker.longestOverlapMs).toBe(20);
    expect(broken(new TwoLeadersChecker({ overlapMs: 25 }), ...begin, wait, wait, wait, wait)).toEqual(['one valid leader']);
  });

  it('reports an overlap of a leader whose lease nobody ended', () => {
    const handle = handleOf('a#1', 1n);
    const overlap = (...cause: readonly WorldEvent[]): readonly string[] =>
      broken(new TwoLeadersChecker({ overlapMs: 25 }), issued(1n), { type: 'elected', handle }, ...cause, issued(2n, 'b'));
    expect(overlap()).toEqual(['one valid leader']);
    expect(overlap(leaseEnded('b#1'))).toEqual(['one valid leader']);
    expect(overlap({ type: 'faultInjected', kind: 'cut', target: 'a#1' })).toEqual(['one valid leader']);
    expect(overlap(leaseEnded('a#1'))).toEqual([]);
  });

  it('reports an overlap in a term that began after the lease was ended', () => {
    const handle = handleOf('a#1', 2n);
    const events = [issued(1n), leaseEnded('a#1'), issued(2n), { type: 'elected', handle }, issued(3n, 'b')] as const;
    expect(broken(new TwoLeadersChecker({ overlapMs: 25 }), ...events)).toEqual(['one valid leader']);
  });

  it('measures an overlap at the end of the allowance, even if no event follows', () => {
    const handle = handleOf('a#1', 1n);
    const checks: (readonly [number, () => void])[] = [];
    const checker = new TwoLeadersChecker({ overlapMs: 25.5, at: (atMs, task) => checks.push([atMs, task]) });
    expect(broken(checker, issued(1n), { type: 'elected', handle }, leaseEnded('a#1'), issued(2n, 'b'))).toEqual([]);
    expect(checks.map(([atMs]) => atMs)).toEqual([56]);
    for (const [, check] of checks) check();
    expect(checker.findings.all.map(({ promise }) => promise)).toEqual(['one valid leader']);
  });
});
