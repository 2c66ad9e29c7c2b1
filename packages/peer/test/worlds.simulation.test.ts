/**
 * Simulations by seed. `SIMULATION_SEEDS` sets how many seeds each simulation runs,
 * `SIMULATION_START` the first one. By default few seeds run, always the same.
 */

import { shrink } from '@incumbent/simulator';
import { guarded } from '@incumbent/simulator/time';
import { numberVariable } from '@incumbent/test-support/number-option';
import { describe, expect, it } from 'vitest';
import { planOf, type Shape } from './quorum/plan.ts';
import { QuorumWorld } from './quorum/world.ts';
import { runBatch, unmet } from './simulation/batch.ts';
import type { Plan } from './simulation/faults.ts';
import { simulations } from './simulation/simulations.ts';

const seeds = numberVariable('SIMULATION_SEEDS', 1_000, { from: 1 });
const start = numberVariable('SIMULATION_START', 1, { from: 0 });

describe.each(simulations)('$name', (simulation) => {
  it(simulation.claim, () => {
    const { failed, counts, recoveredAfter } = runBatch(simulation, start, seeds);
    expect(failed.map(({ plan, violations }) => ({ seed: plan.seed, violations }))).toEqual([]);
    if (seeds >= 1_000) expect(unmet(simulation, counts, true)).toEqual([]);
    expect(counts['elected']).toBeGreaterThan(seeds);
    expect(recoveredAfter).toBeLessThan(15);
  });

  it('a world uses neither the clocks nor the random numbers of the machine', () => {
    guarded(() => {
      for (let seed = 1; seed <= 20; seed += 1) simulation.run(seed);
    });
  });
});

it('a world that breaks a promise can be reduced, because its faults are data', async () => {
  const plan = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(planOf).find(({ faults }) => faults.length > 5)!;
  const isInjected = async (smaller: Plan<Shape>): Promise<boolean> =>
    (new QuorumWorld(smaller).run().counts.get('injected crash') ?? 0) > 0;
  const crashing = {
    ...plan,
    faults: [...plan.faults, { kind: 'crash', target: 'a', forMs: 9, writeLost: false, when: { atMs: 700 } } as const],
  };
  const { faults } = await shrink(crashing, isInjected);
  expect(faults).toHaveLength(1);
  expect(faults[0]!.kind).toBe('crash');
  expect(JSON.parse(JSON.stringify(faults))).toEqual(faults);
});
