import { beforeEach, describe, expect, it, vi } from 'vitest';

import { HolderMonitor } from '../src/holder-monitor.ts';
import type { ProcessIdentity } from '../src/host/process-identity.ts';

/** The processes that do not live, by their ids. */
const fates = vi.hoisted(() => new Map<number, 'gone' | 'zombie'>());
/** The processes that were checked, and how. */
const checks = vi.hoisted((): { pid: number; thorough: boolean }[] => []);

vi.mock('../src/host/process-identity.ts', () => ({
  isAbsent: ({ pid }: ProcessIdentity) => {
    checks.push({ pid, thorough: false });
    return fates.get(pid) === 'gone';
  },
  hasDied: ({ pid }: ProcessIdentity) => {
    checks.push({ pid, thorough: true });
    return fates.has(pid);
  },
}));

beforeEach(() => {
  fates.clear();
  checks.splice(0);
});

function leaseOf(pid: number, started = '1'): { readonly lease: string; readonly holder: ProcessIdentity } {
  return { lease: `lease of ${pid} ${started}`, holder: { pid, started } };
}

function leasesOf(count: number): readonly ReturnType<typeof leaseOf>[] {
  return Array.from({ length: count }, (_, index) => leaseOf(index + 1));
}

describe('the processes that hold what is watched', () => {
  it('are checked four at a time, however many there are, each in turn', () => {
    const monitor = new HolderMonitor(undefined);
    monitor.add(leasesOf(10));
    const turns = Array.from({ length: 5 }, () => {
      checks.splice(0);
      expect(monitor.findDead()).toEqual([]);
      return checks.map(({ pid }) => pid);
    });
    expect(turns).toEqual([
      [1, 2, 3, 4],
      [5, 6, 7, 8],
      [9, 10, 1, 2],
      [3, 4, 5, 6],
      [7, 8, 9, 10],
    ]);
  });

  it('are checked once per call if they are fewer than four', () => {
    const monitor = new HolderMonitor(undefined);
    monitor.add(leasesOf(2));
    monitor.findDead();
    expect(checks.map(({ pid }) => pid)).toEqual([1, 2]);
    monitor.remove(leasesOf(2));
    checks.splice(0);
    expect([monitor.findDead(), checks]).toEqual([[], []]);
  });

  it('are each checked once in twenty calls if there are more than eighty', () => {
    const monitor = new HolderMonitor(undefined);
    monitor.add(leasesOf(400));
    for (let time = 0; time < 20; time += 1) monitor.findDead();
    expect(checks.map(({ pid }) => pid)).toEqual(Array.from({ length: 400 }, (_, index) => index + 1));
  });

  it('are found dead as zombies within 100 calls, which poll every 10 ms, among 400', () => {
    const monitor = new HolderMonitor(undefined);
    monitor.add(leasesOf(400));
    for (let call = 0; call < 20; call += 1) monitor.findDead();
    fates.set(400, 'zombie');
    let calls = 1;
    while (monitor.findDead().length === 0) calls += 1;
    expect(calls).toBeLessThanOrEqual(100);
  });

  it('are found dead at their next check when their ids are unused', () => {
    const monitor = new HolderMonitor(undefined);
    monitor.add(leasesOf(6));
    for (let call = 0; call < 3; call += 1) expect(monitor.findDead()).toEqual([]);
    fates.set(2, 'gone').set(3, 'gone');
    const found = new Set([monitor.findDead(), monitor.findDead()].flat());
    expect([...found].toSorted()).toEqual(['lease of 2 1', 'lease of 3 1']);
  });

  it('are found dead as zombies within five checks, and at the first one', () => {
    const monitor = new HolderMonitor(undefined);
    fates.set(1, 'zombie');
    monitor.add(leasesOf(1));
    expect(monitor.findDead()).toEqual(['lease of 1 1']);
    fates.delete(1);
    monitor.add([leaseOf(2)]);
    monitor.remove(leasesOf(1));
    monitor.findDead();
    fates.set(2, 'zombie');
    const found = Array.from({ length: 5 }, () => monitor.findDead());
    expect(found).toEqual([[], [], [], [], ['lease of 2 1']]);
    expect(checks.filter(({ pid, thorough }) => pid === 2 && thorough).length).toBe(2);
  });

  it('are found dead as zombies though what is watched changes all the time', () => {
    const monitor = new HolderMonitor(undefined);
    monitor.add([leaseOf(1)]);
    monitor.findDead();
    fates.set(1, 'zombie');
    let calls = 0;
    for (let found: readonly string[] = []; found.length === 0 && calls < 10; calls += 1) {
      monitor.add([leaseOf(1), leaseOf(100 + calls)]);
      monitor.remove([leaseOf(1), ...(calls === 0 ? [] : [leaseOf(99 + calls)])]);
      found = monitor.findDead().filter((id) => id === 'lease of 1 1');
    }
    expect(calls).toBe(5);
  });

  it('keep their place in the order although what is watched changes all the time', () => {
    const monitor = new HolderMonitor(undefined);
    monitor.add(leasesOf(20));
    fates.set(20, 'gone');
    let calls = 0;
    for (let found: readonly string[] = []; found.length === 0 && calls < 20; calls += 1) {
      monitor.add([...leasesOf(20), leaseOf(100 + calls)]);
      monitor.remove([...leasesOf(20), ...(calls === 0 ? [] : [leaseOf(99 + calls)])]);
      found = monitor.findDead();
    }
    expect(calls).toBe(5);
  });

  it('leave this one out, and no other that has its id', () => {
    const monitor = new HolderMonitor({ pid: 1, started: '1' });
    fates.set(1, 'zombie');
    monitor.add([leaseOf(1, '1'), leaseOf(1, '2')]);
    expect(monitor.findDead()).toEqual(['lease of 1 2']);
  });
});

describe('whether a watch waits for another process', () => {
  const isOwn = (lease: string): boolean => lease === 'own';

  it('is true while anything is there under a lease that is not its own, under none, or not there', () => {
    const monitor = new HolderMonitor(undefined);
    expect(monitor.waitsForOthers(isOwn)).toBe(false);
    monitor.add([{ lease: 'own' }]);
    expect(monitor.waitsForOthers(isOwn)).toBe(false);
    for (const rows of [[], [{}], [{ lease: 'own' }, { lease: 'other' }]]) {
      monitor.add(rows);
      expect(monitor.waitsForOthers(isOwn)).toBe(true);
      monitor.remove(rows);
      expect(monitor.waitsForOthers(isOwn)).toBe(false);
    }
  });

  it('is true for as long as one of several is there', () => {
    const monitor = new HolderMonitor(undefined);
    for (let holds = 0; holds < 3; holds += 1) monitor.add([{ lease: 'other' }]);
    for (let holds = 0; holds < 3; holds += 1) {
      expect(monitor.waitsForOthers(isOwn)).toBe(true);
      monitor.remove([{ lease: 'other' }]);
    }
    expect(monitor.waitsForOthers(isOwn)).toBe(false);
  });
});
