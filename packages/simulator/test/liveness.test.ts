/** Tests the checker of liveness on made-up histories: what it must find, and what it must not. */

import { describe, expect, it } from 'vitest';
import { LivenessChecker } from '../src/check/liveness.ts';
import type { WorldEvent } from '../src/world/event.ts';
import { gone, handleOf, broken } from './histories.ts';

describe('the liveness checker', () => {
  const rules = { recoveryMs: 50, noticeMs: 20, deposedMs: 40, failoverMs: 40, failoverRequests: 3, byArrival: true };
  const phase = (name: 'calm' | 'deposed' | 'failover' | 'closing'): WorldEvent => ({ type: 'phase', phase: name });
  const recorded = (record: bigint | undefined): WorldEvent => ({ type: 'queue', names: [], record });
  const request: WorldEvent = { type: 'request', operation: 'read', by: 'm1#1' };

  it('reports that nobody leads in calm, or too late', () => {
    expect(broken(new LivenessChecker(rules), phase('calm'), phase('deposed'))).toEqual(['somebody leads in the end']);
    const late = handleOf('m1#1', 1n);
    const wait = Array.from({ length: 6 }, () => request);
    const events = [phase('calm'), ...wait, { type: 'elected', handle: late } as const, recorded(1n), phase('deposed')];
    expect(broken(new LivenessChecker(rules), ...events)).toEqual(['somebody leads in the end']);
  });

  it('reports a leader whose record is gone', () => {
    const handle = handleOf('m1#1', 1n);
    const events = [phase('calm'), { type: 'elected', handle } as const, recorded(undefined), phase('deposed')];
    expect(broken(new LivenessChecker(rules), ...events)).toEqual(['who leads has its record']);
  });

  it('reports a deposed leader that stays, and one without a successor', () => {
    const handle = handleOf('m1#1', 1n);
    const begin = [phase('calm'), { type: 'elected', handle } as const, recorded(1n), phase('deposed')];
    expect(broken(new LivenessChecker(rules), ...begin, phase('failover'))).toEqual([
      'a deleted record ends leadership',
      'somebody leads in the end',
    ]);
    const ended = { type: 'ended', handle, reason: 'recordDeleted', lost: true } as const;
    const next = { type: 'elected', handle: handleOf('m2#1', 2n) } as const;
    expect(broken(new LivenessChecker(rules), ...begin, ended, next, phase('failover'))).toEqual([]);
  });

  it('reports a crashed leader without a successor, and too many requests', () => {
    expect(broken(new LivenessChecker(rules), phase('failover'), phase('closing'))).toContain('a crashed leader is followed');
    const alone: WorldEvent = { type: 'queue', names: ['m1~x~1~fifo~'], record: 1n };
    expect(broken(new LivenessChecker(rules), alone, phase('failover'), phase('closing'))).not.toContain('a crashed leader is followed');
    const next = { type: 'elected', handle: handleOf('m2#1', 2n) } as const;
    const failover = (requests: number): readonly string[] =>
      broken(new LivenessChecker(rules), phase('failover'), gone(1n, 'expiry'), ...Array.from({ length: requests }, () => request), next);
    expect(failover(3)).not.toContain('a failover costs a constant number of requests');
    expect(failover(4)).toContain('a failover costs a constant number of requests');
  });

  it('does not count the requests of a cleanup if waiting candidates send different ones', () => {
    const list: WorldEvent = { type: 'request', operation: 'list', by: 'm2#1', about: 'elections/jobs/candidates', whole: true };
    const record: WorldEvent = { type: 'request', operation: 'read', by: 'm2#1', about: 'elections/jobs/leader' };
    const group: WorldEvent = { type: 'request', operation: 'read', by: 'm2#1', about: 'groups/all/m2' };
    const counted = (byArrival: boolean, ...requests: readonly WorldEvent[]): number => {
      const checker = new LivenessChecker({ ...rules, byArrival });
      broken(checker, phase('failover'), gone(1n, 'expiry'), ...requests);
      return checker.requests;
    };
    expect(counted(true, list, record, group)).toBe(0);
    expect(counted(true, { ...list, whole: false }, record)).toBe(2);
    expect(counted(true, list, { ...record, by: 'm3#1' }, record, record)).toBe(2);
    expect(counted(false, list, record, group)).toBe(3);
  });

  it('does not count the reads of a waiting candidate', () => {
    const checker = new LivenessChecker(rules);
    const read = (about: string): WorldEvent => ({ type: 'request', operation: 'read', by: 'm2#1', about: `elections/jobs/${about}` });
    const check = [read('candidates/m2'), read('leader')];
    broken(checker, phase('failover'), gone(1n, 'expiry'), ...check);
    expect(checker.requests).toBe(0);
    broken(checker, read('leader'));
    expect(checker.requests).toBe(1);
  });

  it('does not count the reads of a waiting candidate that arrive in reverse order', () => {
    const checker = new LivenessChecker(rules);
    const read = (about: string): WorldEvent => ({ type: 'request', operation: 'read', by: 'm2#1', about: `elections/jobs/${about}` });
    broken(checker, phase('failover'), gone(1n, 'expiry'), read('leader'), read('candidates/m2'));
    expect(checker.requests).toBe(0);
    broken(checker, read('leader'));
    expect(checker.requests).toBe(1);
  });
});
