import { describe, expect, it } from 'vitest';
import { streamOf } from '../src/time/random.ts';
import { Livelock, Scheduler } from '../src/time/scheduler.ts';

/** Runs everything, and returns what ran, in order. */
function runAll(scheduler: Scheduler): void {
  while (scheduler.step());
}

describe('the scheduler', () => {
  it('runs tasks in the order of their times, and advances to each time', () => {
    const scheduler = new Scheduler(streamOf(1));
    const random = streamOf(2);
    const ran: number[] = [];
    for (let i = 0; i < 2_000; i += 1) scheduler.at(random.below(500), () => ran.push(scheduler.nowMs));
    runAll(scheduler);
    expect(ran).toHaveLength(2_000);
    expect(ran).toEqual(ran.toSorted((a, b) => a - b));
  });

  it('runs tasks of one time in an order that the seed decides, and any order occurs', () => {
    const orders = new Set<string>();
    for (let seed = 0; seed < 100; seed += 1) {
      const ran: string[] = [];
      const scheduler = new Scheduler(streamOf(seed));
      for (const name of ['a', 'b', 'c']) scheduler.at(5, () => ran.push(name));
      runAll(scheduler);
      orders.add(ran.join(''));
    }
    expect(orders.size).toBe(6);
  });

  it('never runs cancelled tasks, and never goes back in time', () => {
    const scheduler = new Scheduler(streamOf(1));
    const ran: string[] = [];
    const cancelled = scheduler.at(10, () => ran.push('cancelled'));
    scheduler.at(20, () => {
      scheduler.at(5, () => ran.push(`late at ${scheduler.nowMs}`));
    });
    cancelled.task = undefined;
    runAll(scheduler);
    expect(ran).toEqual(['late at 20']);
  });

  it('rounds up, so that nothing runs too early', () => {
    const scheduler = new Scheduler(streamOf(1));
    scheduler.at(1.2, () => {});
    scheduler.step();
    expect(scheduler.nowMs).toBe(2);
  });

  it('observes at a moment after all else, and changes nothing else', () => {
    const orderOf = (isObserved: boolean): readonly string[] => {
      const scheduler = new Scheduler(streamOf(3));
      const ran: string[] = [];
      for (let i = 0; i < 50; i += 1) {
        scheduler.at(5, () => ran.push(`task ${i}`));
        if (isObserved && i === 20) scheduler.observe(5, () => ran.push('observed'));
      }
      runAll(scheduler);
      return ran;
    };
    expect(orderOf(true)).toEqual([...orderOf(false), 'observed']);
  });

  it('throws if time stands still forever', () => {
    const scheduler = new Scheduler(streamOf(1));
    const again = (): void => void scheduler.after(0, again);
    again();
    expect(() => runAll(scheduler)).toThrow(Livelock);
  });
});

describe('a stream', () => {
  it('is the same for the same seed and labels, and different for any others', () => {
    const take = (...labels: string[]): readonly number[] => {
      const stream = streamOf(7, ...labels);
      return Array.from({ length: 50 }, () => stream.u32());
    };
    expect(take('a', 'b')).toEqual(take('a', 'b'));
    expect(take('a', 'b')).not.toEqual(take('a', 'c'));
    expect(streamOf(8, 'a').u32()).not.toBe(streamOf(7, 'a').u32());
  });

  it('is uniform, and `between` includes both ends', () => {
    const stream = streamOf(3);
    const counts = new Map<number, number>();
    for (let i = 0; i < 60_000; i += 1) {
      const n = stream.between(1, 6);
      counts.set(n, (counts.get(n) ?? 0) + 1);
    }
    expect([...counts.keys()].toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6]);
    for (const count of counts.values()) expect(Math.abs(count - 10_000)).toBeLessThan(500);
  });

  it('is the same on every machine', () => {
    const stream = streamOf(42, 'golden');
    expect(Array.from({ length: 4 }, () => stream.u32())).toMatchInlineSnapshot(`
      [
        3190700607,
        2641160589,
        2096370767,
        57899137,
      ]
    `);
  });
});
