/** Worlds of elections by best effort, by seed. `SIMULATION_SEEDS` says how many of each, `SIMULATION_START` from which one on. */

import { guarded } from '@incumbent/simulator/time';
import { describe, expect, it } from 'vitest';
import { names } from './best-effort/algorithms.ts';
import { runBatch, unmet } from './best-effort/batch.ts';
import { planOf } from './best-effort/plan.ts';
import { run } from './best-effort/world.ts';

const seeds = Number(process.env['SIMULATION_SEEDS'] ?? 1_000);
const start = Number(process.env['SIMULATION_START'] ?? 1);

describe.each(names)('%s', { timeout: 600_000 }, (name) => {
  it('in a connected, quiet group one leads and all see it, whatever happened before', () => {
    const { failed, counts } = runBatch(name, start, seeds);
    expect(failed.map(({ plan, violations }) => ({ seed: plan.seed, violations }))).toEqual([]);
    if (seeds >= 1_000) expect(unmet(name, counts)).toEqual([]);
    expect(counts['elected']).toBeGreaterThan(seeds);
  });

  it('the machine has no part in it: its clocks and its chance throw while a world runs', () => {
    guarded(() => {
      for (let seed = 1; seed <= 20; seed += 1) run(planOf(name, seed));
    });
  });
});
