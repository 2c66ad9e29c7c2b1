import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { Recovery } from '../src/recovery.ts';

const { signal } = new AbortController();

describe('coming back', () => {
  it('is for 32 at a time, and for everybody in the end', async () => {
    const recovery = new Recovery();
    let [running, most, done] = [0, 0, 0];
    const task = async (): Promise<void> => {
      most = Math.max(most, (running += 1));
      await turn();
      running -= 1;
      done += 1;
    };
    await Promise.all(Array.from({ length: 500 }, () => recovery.run(task, signal)));
    expect({ most, done }).toEqual({ most: 32, done: 500 });
  });

  describe('after a failure', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
    afterEach(() => void vi.useRealTimers());

    /** How long a task that comes now has to wait, in ms. */
    const waitOf = async (recovery: Recovery, task: () => Promise<void> = async () => {}): Promise<number> => {
      const from = performance.now();
      let waitedMs = Number.NaN;
      const running = recovery.run(() => {
        waitedMs = performance.now() - from;
        return task();
      }, signal);
      await Promise.all([running.catch(() => recovery.hold()), vi.runAllTimersAsync()]);
      return waitedMs;
    };

    it('waits 50 to 100 ms, then longer, a second at the most, and is quick again after a success', async () => {
      const recovery = new Recovery();
      const fail = (): Promise<void> => Promise.reject(new Error('no'));
      const [least, most] = [
        [0, 50, 100, 200, 400, 500, 500],
        [0, 100, 200, 400, 800, 1_000, 1_000],
      ];
      const waits: number[] = [];
      for (const _ of least) waits.push(await waitOf(recovery, fail));
      for (const [i, waited] of waits.entries()) {
        expect(waited).toBeGreaterThanOrEqual(least[i] ?? Number.NaN);
        // A timer's time is whole milliseconds.
        expect(waited).toBeLessThanOrEqual((most[i] ?? Number.NaN) + 1);
      }
      await waitOf(recovery);
      recovery.hold();
      expect(await waitOf(recovery)).toBeLessThanOrEqual(101);
    });

    it('waits once for a failure of many', async () => {
      const recovery = new Recovery();
      for (let i = 0; i < 32; i += 1) recovery.hold();
      expect(await waitOf(recovery)).toBeLessThanOrEqual(101);
      expect(await waitOf(recovery)).toBe(0);
    });
  });

  it('can be given up while waiting, and then lets the next one through', async () => {
    const recovery = new Recovery();
    const block = Promise.withResolvers<void>();
    const running = Array.from({ length: 32 }, () => recovery.run(() => block.promise, signal));
    const stop = new AbortController();
    const given = recovery.run(async () => 'given up', stop.signal);
    const next = recovery.run(async () => 'next', signal);
    stop.abort('enough');
    await expect(given).rejects.toBe('enough');
    block.resolve();
    expect(await next).toBe('next');
    await Promise.all(running);
    await expect(recovery.run(async () => {}, stop.signal)).rejects.toBe('enough');
  });
});
