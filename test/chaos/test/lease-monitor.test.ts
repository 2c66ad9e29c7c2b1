import { describe, expect, it } from 'vitest';
import { LeaseLog } from '../lease-monitor.ts';

const leases = (...names: readonly string[]): ReadonlySet<string> => new Set(names);

describe('a monitor of leases', () => {
  it('knows that a lease is gone by a read that was sent after the lease had been seen', () => {
    const log = new LeaseLog();
    expect(log.take(leases('a', 'b'), 0, 10)).toEqual([]);
    expect(log.take(leases('b'), 20, 30)).toEqual(['a']);
    expect(log.take(leases('b'), 40, 50)).toEqual([]);
  });

  it('concludes nothing from a read that may be older than the lease', () => {
    const log = new LeaseLog();
    log.take(leases('a'), 5, 10);
    expect(log.take(leases(), 8, 20)).toEqual([]);
    expect(log.take(leases(), 21, 30)).toEqual(['a']);
  });

  it('does not take a lease that is gone for a new one, where an older answer comes late', () => {
    const log = new LeaseLog();
    log.take(leases('a'), 0, 10);
    expect(log.take(leases(), 20, 30)).toEqual(['a']);
    expect(log.take(leases('a'), 15, 40)).toEqual([]);
    expect(log.take(leases(), 50, 60)).toEqual([]);
  });
});
