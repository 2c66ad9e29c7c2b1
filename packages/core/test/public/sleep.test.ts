import { ManualClock } from '@incumbent/memory';
import { expect, it } from 'vitest';
import { sleep } from '../../src/index.ts';

it('sleep waits by any clock, and ends early if the signal aborts', async () => {
  const clock = new ManualClock();
  await clock.run(sleep(clock, 250));
  expect(clock.monotonic()).toBe(250);
  const stop = new AbortController();
  const stopped = sleep(clock, 10_000, stop.signal);
  stop.abort();
  await clock.run(stopped);
  expect(clock.monotonic()).toBe(250);
});

it('sleep rejects if the clock is missing, as in a call of the sleep of node:timers/promises', async () => {
  const slept: Promise<unknown> = Reflect.apply(sleep, undefined, [1_000]);
  await expect(slept).rejects.toThrow('clock is 1000: it must be a Clock: sleep(systemClock, 1_000, signal)');
});
