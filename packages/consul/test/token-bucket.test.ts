import { ManualClock } from '@incumbent/memory';
import { expect, it } from 'vitest';

import { TokenBucket } from '../src/token-bucket.ts';

it('a bucket gives a few at once, then one at a time, and is full again after a while', async () => {
  const clock = new ManualClock({ monotonicMs: 5_000 });
  const bucket = new TokenBucket(clock, { burst: 3, everyMs: 50 });
  const take = (count: number): readonly number[] => Array.from({ length: count }, () => bucket.take());
  expect(take(5)).toEqual([0, 0, 0, 50, 100]);
  await clock.advance(100);
  expect(take(1)).toEqual([50]);
  await clock.advance(10_000);
  expect(take(4)).toEqual([0, 0, 0, 50]);
});
