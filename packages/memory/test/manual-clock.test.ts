/** Real time: one test waits 5 ms to show that a manual clock does not move by itself. */

import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

describe('a manual clock', () => {
  it('stands still until it is moved', async () => {
    const clock = new ManualClock({ monotonicMs: 5, wallMs: 1_000 });
    clock.schedule(0, () => expect.unreachable('a timer ran by itself'));
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
    expect([clock.monotonic(), clock.wall(), clock.timers]).toEqual([5, 1_000, 1]);
  });

  it('moves both clocks by the same time', async () => {
    const clock = new ManualClock({ wallMs: 1_000 });
    await clock.advance(250);
    expect([clock.monotonic(), clock.wall()]).toEqual([250, 1_250]);
  });

  it('runs timers at their time; timers of one time in the order in which they were scheduled', async () => {
    const clock = new ManualClock();
    const ran: string[] = [];
    for (const [name, delayMs] of [
      ['c', 30],
      ['a', 10],
      ['d', 30],
      ['b', 20],
      ['never', 31],
    ] as const) {
      clock.schedule(delayMs, () => ran.push(`${name}@${clock.monotonic()}`));
    }
    await clock.advance(30);
    expect(ran).toEqual(['a@10', 'b@20', 'c@30', 'd@30']);
  });

  it('runs a timer that another timer has scheduled, if it is due', async () => {
    const clock = new ManualClock();
    const ran: number[] = [];
    const again = (): void => {
      ran.push(clock.monotonic());
      clock.schedule(10, again);
    };
    clock.schedule(10, again);
    await clock.advance(35);
    expect(ran).toEqual([10, 20, 30]);
  });

  it('lets promises settle between timers', async () => {
    const clock = new ManualClock();
    const ran: string[] = [];
    clock.schedule(10, () => {
      void (async () => {
        for (let i = 0; i < 50; i += 1) await Promise.resolve();
        ran.push('what followed from the first');
      })();
    });
    clock.schedule(10, () => ran.push('second'));
    await clock.advance(10);
    expect(ran).toEqual(['what followed from the first', 'second']);
  });

  it('lets promises settle when no time passes', async () => {
    const clock = new ManualClock();
    let isSettled = false;
    void Promise.resolve().then(() => {
      isSettled = true;
    });
    await clock.advance(0);
    expect(isSettled).toBe(true);
  });

  it('does not run cancelled timers, and counts pending ones', async () => {
    const clock = new ManualClock();
    const ran: string[] = [];
    const cancels = ['a', 'b', 'c'].map((name) => clock.schedule(10, () => ran.push(name)));
    cancels[1]?.();
    cancels[1]?.();
    expect(clock.timers).toBe(2);
    await clock.advance(10);
    cancels[0]?.();
    expect([ran, clock.timers]).toEqual([['a', 'c'], 0]);
  });

  it('sets the wall clock independently of the monotonic one', () => {
    const clock = new ManualClock({ wallMs: 1_000 });
    clock.advanceWall(-600);
    expect([clock.monotonic(), clock.wall()]).toEqual([0, 400]);
    clock.setWall(5_000);
    expect([clock.monotonic(), clock.wall()]).toEqual([0, 5_000]);
  });

  it('counts calls of keepAlive that are not yet released', () => {
    const clock = new ManualClock();
    const [first, second] = [clock.keepAlive(), clock.keepAlive()];
    first();
    first();
    expect(clock.holds).toBe(1);
    second();
    expect(clock.holds).toBe(0);
  });

  it('treats a negative delay as 0, and refuses NaN', async () => {
    const clock = new ManualClock();
    let ranAt = -1;
    clock.schedule(-5, () => {
      ranAt = clock.monotonic();
    });
    await clock.advance(0);
    expect(ranAt).toBe(0);
    expect(() => clock.schedule(Number.NaN, () => {})).toThrow(RangeError);
  });

  it('refuses to go back', async () => {
    await expect(new ManualClock().advance(-1)).rejects.toThrow(RangeError);
  });

  it('refuses a second advance while one is under way', async () => {
    const clock = new ManualClock();
    const first = clock.advance(10);
    await expect(clock.advance(10)).rejects.toThrow('moved already');
    await first;
    await clock.advance(10);
    expect(clock.monotonic()).toBe(20);
  });

  it('rejects with the error that a timer throws, and can be advanced again', async () => {
    const clock = new ManualClock();
    clock.schedule(10, () => {
      throw new Error('thrown by a timer');
    });
    await expect(clock.advance(20)).rejects.toThrow('thrown by a timer');
    await clock.advance(10);
    expect(clock.monotonic()).toBe(20);
  });

  it('rejects when a timer schedules itself without a delay forever', async () => {
    const clock = new ManualClock();
    const again = (): void => void clock.schedule(0, again);
    again();
    await expect(clock.advance(1)).rejects.toThrow('without a delay');
  });
});

describe('run', () => {
  const sleep = (clock: ManualClock, ms: number): Promise<void> =>
    new Promise((resolve) => {
      clock.schedule(ms, resolve);
    });

  it('lets as much time pass as the promise needs, and no more', async () => {
    const clock = new ManualClock();
    clock.schedule(10_000, () => expect.unreachable('too far'));
    expect(await clock.run(sleep(clock, 500).then(() => 'done'))).toBe('done');
    expect(clock.monotonic()).toBe(500);
  });

  it('lets no time pass for a promise that needs none', async () => {
    const clock = new ManualClock();
    clock.schedule(10, () => {});
    expect(await clock.run(Promise.resolve('done'))).toBe('done');
    expect(clock.monotonic()).toBe(0);
  });

  it('rejects as the promise does', async () => {
    const clock = new ManualClock();
    const failing = sleep(clock, 5).then(() => Promise.reject(new Error('as the promise does')));
    await expect(clock.run(failing)).rejects.toThrow('as the promise does');
  });

  it('rejects after the longest time that it is given', async () => {
    const clock = new ManualClock();
    await expect(clock.run(sleep(clock, 1_001), { withinMs: 1_000 })).rejects.toThrow('has not settled in 1000 ms');
    expect(clock.monotonic()).toBeLessThanOrEqual(1_000);
  });

  it('rejects when no timer is left that could settle the promise', async () => {
    await expect(new ManualClock().run(new Promise(() => {}))).rejects.toThrow('nothing is scheduled');
  });
});
