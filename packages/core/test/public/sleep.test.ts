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
