import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { momentOf } from '../../src/base/clock.ts';
import { systemClock } from '../../src/index.ts';
import { fraction, randomName, systemRandom } from '../../src/base/random.ts';
import { always, seeded } from '../support/random.ts';

describe("the system's clock", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('runs a task once, no earlier than asked, and not at all when cancelled', () => {
    let ran = 0;
    const count = (): void => {
      ran += 1;
    };
    systemClock.schedule(100, count);
    const cancel = systemClock.schedule(100, count);
    cancel();
    cancel();
    vi.advanceTimersByTime(99);
    expect(ran).toBe(0);
    vi.advanceTimersByTime(1_000);
    expect(ran).toBe(1);
  });

  it('asks for no delay that a timer of Node would take for none', () => {
    const timers = vi.spyOn(globalThis, 'setTimeout');
    systemClock.schedule(60 * 86_400_000, () => {})();
    expect(timers.mock.calls[0]?.[1]).toBe(2 ** 31 - 1);
  });

  it('takes a moment that has passed for the next one, and Node has nothing to warn of', () => {
    const timers = vi.spyOn(globalThis, 'setTimeout');
    for (const delayMs of [-0.1, 0]) systemClock.schedule(delayMs, () => {})();
    expect(timers.mock.calls.map(([, delayMs]) => delayMs)).toEqual([1, 1]);
  });

  it('keeps the process alive by a hold, and by nothing else', () => {
    const cancel = systemClock.schedule(100, () => {});
    const letGo = systemClock.keepAlive();
    expect(vi.getTimerCount()).toBe(2);
    letGo();
    letGo();
    cancel();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('keeps it alive until the last of its holds is given up, by one timer for all', () => {
    const holds = [systemClock.keepAlive(), systemClock.keepAlive()];
    holds[0]?.();
    holds[0]?.();
    expect(vi.getTimerCount()).toBe(1);
    holds[1]?.();
    expect(vi.getTimerCount()).toBe(0);
    systemClock.keepAlive()();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('reads both clocks for a moment', () => {
    expect(momentOf(systemClock)).toEqual({ monotonicMs: systemClock.monotonic(), wallMs: systemClock.wall() });
  });
});

describe('random numbers', () => {
  it('as a fraction is from 0 to 1, which it never is', () => {
    expect([fraction(always(0)), fraction(always(1)) < 1, fraction(always(0.5))]).toEqual([0, true, 0.5]);
  });

  it('makes names of 32 characters, each as likely as the other', () => {
    const name = randomName(seeded(1), 32_000);
    const counts = Map.groupBy(name, (char) => char);
    expect(counts.size).toBe(32);
    expect(name).toMatch(/^[0-9a-v]+$/);
    for (const list of counts.values()) expect(Math.abs(list.length - 1_000)).toBeLessThan(150);
  });

  it('of the system is an integer of 32 bits, and another one each time', () => {
    const drawn = Array.from({ length: 100 }, () => systemRandom.u32());
    expect(drawn.every((value) => Number.isInteger(value) && value >= 0 && value < 2 ** 32)).toBe(true);
    expect(new Set(drawn).size).toBeGreaterThan(90);
  });
});
