import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Backoff } from '../../src/async/backoff.ts';
import { check } from '../support/property.ts';
import { always, seeded } from '../support/random.ts';

function waits(backoff: Backoff, count: number): readonly number[] {
  return Array.from({ length: count }, () => backoff.next());
}

it('the nth wait is between half and the whole of first × 2ⁿ⁻¹, and never over the most', () => {
  expect(waits(new Backoff(always(0), 100, 1_000), 6)).toEqual([50, 100, 200, 400, 500, 500]);
  const longest = waits(new Backoff(always(1), 100, 1_000), 6);
  expect(longest.map(Math.round)).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  expect(Math.max(...longest)).toBeLessThanOrEqual(1_000);
});

it('it goes on for ever without growing beyond the most, or into NaN', () => {
  check(
    fc.property(fc.integer(), fc.double({ min: 1, max: 1e6, noNaN: true }), (seed, firstMs) => {
      const backoff = new Backoff(seeded(seed), firstMs, 5_000);
      return waits(backoff, 2_000).every((wait) => wait > 0 && wait <= 5_000);
    }),
    { numRuns: 20 },
  );
});

it('after a reset it begins again', () => {
  const backoff = new Backoff(always(0), 100, 10_000);
  waits(backoff, 5);
  backoff.reset();
  expect(backoff.next()).toBe(50);
});

it('many who fail together do not come back together', () => {
  const random = seeded(1);
  const firsts = Array.from({ length: 1_000 }, () => new Backoff(random, 100, 1_000).next());
  const tenths = new Set(firsts.map((wait) => Math.floor(wait / 5)));
  expect(tenths.size).toBe(10);
});
