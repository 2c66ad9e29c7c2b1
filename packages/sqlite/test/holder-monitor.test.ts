import { beforeEach, describe, expect, it, vi } from 'vitest';

import { Census } from '../src/holder-monitor.ts';
import type { Life } from '../src/host/process-identity.ts';

/** What became of processes, by their ids; what is not here lives. */
const fates = vi.hoisted(() => new Map<number, 'gone' | 'zombie'>());
/** The processes that were looked at, and how. */
const looks = vi.hoisted((): { pid: number; thorough: boolean }[] => []);

vi.mock('../src/host/process-identity.ts', () => ({
  isGone: ({ pid }: Life) => {
    looks.push({ pid, thorough: false });
    return fates.get(pid) === 'gone';
  },
  isOver: ({ pid }: Life) => {
    looks.push({ pid, thorough: true });
    return fates.has(pid);
  },
}));

beforeEach(() => {
  fates.clear();
  looks.splice(0);
});

function leaseOf(pid: number, started = '1'): { readonly lease: string; readonly life: Life } {
  return { lease: `lease of ${pid} ${started}`, life: { pid, started } };
}

function leasesOf(count: number): readonly ReturnType<typeof leaseOf>[] {
  return Array.from({ length: count }, (_, index) => leaseOf(index + 1));
}

describe('the processes that hold what is watched', () => {
  it('are looked at four at a time, however many there are, each in its turn', () => {
    const census = new Census(undefined);
    census.hold(leasesOf(10));
    const turns = Array.from({ length: 5 }, () => {
      looks.splice(0);
      expect(census.dead()).toEqual([]);
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
    const census = new Census(undefined);
    census.hold(leasesOf(2));
    census.dead();
    expect(looks.map(({ pid }) => pid)).toEqual([1, 2]);
    census.letGo(leasesOf(2));
    looks.splice(0);
    expect([census.dead(), looks]).toEqual([[], []]);
  });

  it('are each looked at once in twenty times, where there are too many for that by fours', () => {
    const census = new Census(undefined);
    census.hold(leasesOf(400));
    for (let time = 0; time < 20; time += 1) census.dead();
    expect(looks.map(({ pid }) => pid)).toEqual(Array.from({ length: 400 }, (_, index) => index + 1));
  });

  it('are found dead at their next look when they are gone', () => {
    const census = new Census(undefined);
    census.hold(leasesOf(6));
    for (let look = 0; look < 3; look += 1) expect(census.dead()).toEqual([]);
    fates.set(2, 'gone').set(3, 'gone');
    const found = new Set([census.dead(), census.dead()].flat());
    expect([...found].toSorted()).toEqual(['lease of 2 1', 'lease of 3 1']);
  });

  it('are found dead as zombies within five looks, and at the first', () => {
    const census = new Census(undefined);
    fates.set(1, 'zombie');
    census.hold(leasesOf(1));
    expect(census.dead()).toEqual(['lease of 1 1']);
    fates.delete(1);
    census.hold([leaseOf(2)]);
    census.letGo(leasesOf(1));
    census.dead();
    fates.set(2, 'zombie');
    const found = Array.from({ length: 5 }, () => census.dead());
    expect(found).toEqual([[], [], [], [], ['lease of 2 1']]);
    expect(looks.filter(({ pid, thorough }) => pid === 2 && thorough).length).toBe(2);
  });

  it('are found dead as zombies though what is watched changes all the time', () => {
    const census = new Census(undefined);
    census.hold([leaseOf(1)]);
    census.dead();
    fates.set(1, 'zombie');
    let looked = 0;
    for (let found: readonly string[] = []; found.length === 0 && looked < 10; looked += 1) {
      census.hold([leaseOf(1), leaseOf(100 + looked)]);
      census.letGo([leaseOf(1), ...(looked === 0 ? [] : [leaseOf(99 + looked)])]);
      found = census.dead().filter((id) => id === 'lease of 1 1');
    }
    expect(looked).toBe(5);
  });

  it('keep their turn though what is watched changes all the time: the last one is found as well', () => {
    const census = new Census(undefined);
    census.hold(leasesOf(20));
    fates.set(20, 'gone');
    let looked = 0;
    for (let found: readonly string[] = []; found.length === 0 && looked < 20; looked += 1) {
      census.hold([...leasesOf(20), leaseOf(100 + looked)]);
      census.letGo([...leasesOf(20), ...(looked === 0 ? [] : [leaseOf(99 + looked)])]);
      found = census.dead();
    }
    expect(looked).toBe(5);
  });

  it('leave this one out, and no other that has its id', () => {
    const census = new Census({ pid: 1, started: '1' });
    fates.set(1, 'zombie');
    census.hold([leaseOf(1, '1'), leaseOf(1, '2')]);
    expect(census.dead()).toEqual(['lease of 1 2']);
  });
});

describe('whether anybody waits for another process', () => {
  const isOwn = (lease: string): boolean => lease === 'own';

  it('is true while anything is there under a lease that is not its own, under none, or not there', () => {
    const census = new Census(undefined);
    expect(census.waits(isOwn)).toBe(false);
    census.hold([{ lease: 'own' }]);
    expect(census.waits(isOwn)).toBe(false);
    for (const rows of [[], [{}], [{ lease: 'own' }, { lease: 'other' }]]) {
      census.hold(rows);
      expect(census.waits(isOwn)).toBe(true);
      census.letGo(rows);
      expect(census.waits(isOwn)).toBe(false);
    }
  });

  it('is true for as long as one of several is there', () => {
    const census = new Census(undefined);
    for (let holds = 0; holds < 3; holds += 1) census.hold([{ lease: 'other' }]);
    for (let holds = 0; holds < 3; holds += 1) {
      expect(census.waits(isOwn)).toBe(true);
      census.letGo([{ lease: 'other' }]);
    }
    expect(census.waits(isOwn)).toBe(false);
  });
});
