import { beforeEach, describe, expect, it, vi } from 'vitest';

import { HolderMonitor } from '../src/holder-monitor.ts';
import type { ProcessIdentity } from '../src/host/process-identity.ts';

/** What became of processes, by their ids; what is not here lives. */
const fates = vi.hoisted(() => new Map<number, 'gone' | 'zombie'>());
/** The processes that were looked at, and how. */
const looks = vi.hoisted((): { pid: number; thorough: boolean }[] => []);

vi.mock('../src/host/process-identity.ts', () => ({
  isAbsent: ({ pid }: ProcessIdentity) => {
    looks.push({ pid, thorough: false });
    return fates.get(pid) === 'gone';
  },
  hasDied: ({ pid }: ProcessIdentity) => {
    looks.push({ pid, thorough: true });
    return fates.has(pid);
  },
}));

beforeEach(() => {
  fates.clear();
  looks.splice(0);
});

function leaseOf(pid: number, started = '1'): { readonly lease: string; readonly holder: ProcessIdentity } {
  return { lease: `lease of ${pid} ${started}`, holder: { pid, started } };
}

function leasesOf(count: number): readonly ReturnType<typeof leaseOf>[] {
  return Array.from({ length: count }, (_, index) => leaseOf(index + 1));
}

describe('the processes that hold what is watched', () => {
  it('are looked at four at a time, however many there are, each in its turn', () => {
    const monitor = new HolderMonitor(undefined);
    monitor.add(leasesOf(10));
    const turns = Array.from({ length: 5 }, () => {
      looks.splice(0);
      expect(monitor.findDead()).toEqual([]);
      return looks.map(({ pid }) => pid);
    });
    expect(turns).toEqual([
      [1, 2, 3, 4],
      [5, 6, 7, 8],
      [9, 10, 1, 2],
      [3, 4, 5, 6],
      [7, 8, 9, 10],
    ]);
  });

  it('are looked at once a time where they are fewer than four', () => {
    const monitor = new HolderMonitor(undefined);
    monitor.add(leasesOf(2));
    monitor.findDead();
    expect(looks.map(({ pid }) => pid)).toEqual([1, 2]);
    monitor.remove(leasesOf(2));
    looks.splice(0);
    expect([monitor.findDead(), looks]).toEqual([[], []]);
  });

  it('are each looked at once in twenty times, where there are too many for that by fours', () => {
    const monitor = new HolderMonitor(undefined);
    monitor.add(leasesOf(400));
    for (let time = 0; time < 20; time += 1) monitor.findDead();
    expect(looks.map(({ pid }) => pid)).toEqual(Array.from({ length: 400 }, (_, index) => index + 1));
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

  it('are found dead at their next look when they are gone', () => {
    const monitor = new HolderMonitor(undefined);
    monitor.add(leasesOf(6));
    for (let look = 0; look < 3; look += 1) expect(monitor.findDead()).toEqual([]);
    fates.set(2, 'gone').set(3, 'gone');
    const found = new Set([monitor.findDead(), monitor.findDead()].flat());
    expect([...found].toSorted()).toEqual(['lease of 2 1', 'lease of 3 1']);
  });

  it('are found dead as zombies within five looks, and at the first', () => {
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
    expect(looks.filter(({ pid, thorough }) => pid === 2 && thorough).length).toBe(2);
  });

  it('are found dead as zombies though what is watched changes all the time', () => {
    const monitor = new HolderMonitor(undefined);
    monitor.add([leaseOf(1)]);
    monitor.findDead();
    fates.set(1, 'zombie');
    let looked = 0;
    for (let found: readonly string[] = []; found.length === 0 && looked < 10; looked += 1) {
      monitor.add([leaseOf(1), leaseOf(100 + looked)]);
      monitor.remove([leaseOf(1), ...(looked === 0 ? [] : [leaseOf(99 + looked)])]);
      found = monitor.findDead().filter((id) => id === 'lease of 1 1');
    }
    expect(looked).toBe(5);
  });

  it('keep their turn though what is watched changes all the time: the last one is found as well', () => {
    const monitor = new HolderMonitor(undefined);
    monitor.add(leasesOf(20));
    fates.set(20, 'gone');
    let looked = 0;
    for (let found: readonly string[] = []; found.length === 0 && looked < 20; looked += 1) {
      monitor.add([...leasesOf(20), leaseOf(100 + looked)]);
      monitor.remove([...leasesOf(20), ...(looked === 0 ? [] : [leaseOf(99 + looked)])]);
      found = monitor.findDead();
    }
    expect(looked).toBe(5);
  });

  it('leave this one out, and no other that has its id', () => {
    const monitor = new HolderMonitor({ pid: 1, started: '1' });
    fates.set(1, 'zombie');
    monitor.add([leaseOf(1, '1'), leaseOf(1, '2')]);
    expect(monitor.findDead()).toEqual(['lease of 1 2']);
  });
});

describe('whether anybody waits for another process', () => {
  const isOwn = (lease: string): boolean => lease === 'own';

  it('is true while anything is there under a lease that is not its own, under none, or not there', () => {
    const monitor = new HolderMonitor(undefined);
    expect(monitor.awaitsOthers(isOwn)).toBe(false);
    monitor.add([{ lease: 'own' }]);
    expect(monitor.awaitsOthers(isOwn)).toBe(false);
    for (const rows of [[], [{}], [{ lease: 'own' }, { lease: 'other' }]]) {
      monitor.add(rows);
      expect(monitor.awaitsOthers(isOwn)).toBe(true);
      monitor.remove(rows);
      expect(monitor.awaitsOthers(isOwn)).toBe(false);
    }
  });

  it('is true for as long as one of several is there', () => {
    const monitor = new HolderMonitor(undefined);
    for (let holds = 0; holds < 3; holds += 1) monitor.add([{ lease: 'other' }]);
    for (let holds = 0; holds < 3; holds += 1) {
      expect(monitor.awaitsOthers(isOwn)).toBe(true);
      monitor.remove([{ lease: 'other' }]);
    }
    expect(monitor.awaitsOthers(isOwn)).toBe(false);
  });
});
