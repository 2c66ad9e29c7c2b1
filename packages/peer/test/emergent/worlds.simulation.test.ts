/** Worlds by seed. `SIMULATION_SEEDS` says how many, `SIMULATION_START` from which one on; by default few, and always the same. */

import { guarded } from '@incumbent/simulator/time';
import { expect, it } from 'vitest';
import { runBatch, unmet } from './simulation/batch.ts';
import { crowd } from './simulation/crowd.ts';
import { planOf } from './simulation/plan.ts';
import { run } from './simulation/world.ts';

const seeds = Number(process.env['SIMULATION_SEEDS'] ?? 1_000);
const start = Number(process.env['SIMULATION_START'] ?? 1);

it('in calm there is one coordinator, all have its list, and it stays as it is', { timeout: 600_000 }, () => {
  const { failed, counts, recoveredAfter } = runBatch(start, seeds);
  expect(failed.map(({ plan, violations }) => ({ seed: plan.seed, violations }))).toEqual([]);
  if (seeds >= 1_000) expect(unmet(counts)).toEqual([]);
  expect(counts['elected']).toBeGreaterThan(seeds);
  expect(recoveredAfter).toBeLessThan(15);
});

it('the machine has no part in it: its clocks and its chance throw while a world runs', () => {
  guarded(() => {
    for (let seed = 1; seed <= 20; seed += 1) run(planOf(seed));
  });
});

it.each([1, 2])('seed %i: a hundred members join, fail, are split in three, and are one again', { timeout: 600_000 }, async (seed) => {
  const { problems } = await crowd(seed);
  expect(problems).toEqual([]);
});
