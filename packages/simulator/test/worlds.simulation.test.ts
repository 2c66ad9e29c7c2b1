/**
 * Worlds of every profile. `SIMULATION_SEEDS` sets how many of each, and `SIMULATION_START` the
 * first seed. By default few, and always the same.
 */

import { numberVariable } from '@incumbent/test-support/number-option';
import { describe, expect, it } from 'vitest';
import { missing, profiles, runBatch, type Summary } from '../src/index.ts';

const seeds = numberVariable('SIMULATION_SEEDS', 150, { from: 1 });
const start = numberVariable('SIMULATION_START', 1, { from: 0 });

describe.each(profiles)('$name: $about', ({ name, mustBreak }) => {
  it(`keeps every promise${mustBreak.length > 0 ? ' but those that the docs warn of, which break' : ''}`, async () => {
    const summary = await runBatch(name, start, seeds);
    expect(summary.failed, `again: pnpm simulate --profile ${name} --replay ${summary.failed[0]?.seed}`).toEqual([]);
    expect(missing(summary)).toEqual([]);
    for (const promise of mustBreak) expect(await isBroken(promise, summary), promise).toBe(true);
    expect(summary.counts['elected']).toBeGreaterThan(seeds);
    expect(summary.replayed).toBeGreaterThan(0);
  });
});

/** Whether a promise breaks in these worlds, or in others: some do in one world of forty only. */
async function isBroken(promise: string, { profile, broken }: Summary): Promise<boolean> {
  return promise in broken || promise in (await runBatch(profile, start + seeds, 2 * seeds)).broken;
}
