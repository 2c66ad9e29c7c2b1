import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';

import { Recovery } from '../src/recovery.ts';

const { signal } = new AbortController();

describe('coming back', () => {
  it('is for 32 at a time, and for everybody in the end', async () => {
    const recovery = new Recovery();
    let [running, most, done] = [0, 0, 0];
    const task = async (): Promise<void> => {
      most = Math.max(most, (running += 1));
      await sleep(1);
      running -= 1;
      done += 1;
    };
    await Promise.all(Array.from({ length: 500 }, () => recovery.run(task, signal)));
    expect({ most, done }).toEqual({ most: 32, done: 500 });
  });

  it('waits after a failure: 50 to 100 ms, then longer, a second at the most, and is quick again after a success', async () => {
    const recovery = new Recovery();
    const waits: number[] = [];
    const wait = async (): Promise<void> => {
      const from = performance.now();
      await recovery
        .run(async () => {
          waits.push(performance.now() - from);
          throw new Error('no');
        }, signal)
        .catch(() => recovery.hold());
    };
    for (let i = 0; i < 6; i += 1) await wait();
    const bounds = [0, 50, 100, 200, 400, 500];
    const most = [20, 100, 200, 400, 800, 1_000];
    for (const [i, waited] of waits.entries()) {
      expect(waited).toBeGreaterThanOrEqual((bounds[i] ?? 0) - 2);
      expect(waited).toBeLessThan((most[i] ?? 0) + 100);
    }
    await recovery.run(async () => {}, signal);
    recovery.hold();
    const from = performance.now();
    await recovery.run(async () => {}, signal);
    expect(performance.now() - from).toBeLessThan(200);
  });

  it('waits once for a failure of many', async () => {
    const recovery = new Recovery();
    for (let i = 0; i < 32; i += 1) recovery.hold();
    const from = performance.now();
    await recovery.run(async () => {}, signal);
    expect(performance.now() - from).toBeLessThan(200);
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
