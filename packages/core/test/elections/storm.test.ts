import { numberVariable } from '@incumbent/test-support/number-option';
import { describe, expect, it } from 'vitest';
import { Storm } from '../support/storm.ts';

const [count, before] = [numberVariable('STORM', 20, { from: 1 }), numberVariable('STORM_FROM', 0, { from: 0 })];
const seeds = Array.from({ length: count }, (_, i) => before + i + 1);

describe.each([
  ['where a lease can be assigned', {}],
  ['where it cannot, and revisions restart', { assignableLease: false, revisionsSurviveDeletion: false }],
] as const)('in a storm, %s', (_, options) => {
  it.each(seeds)('at most one is valid, terms rise, one leads afterwards, and nothing is left: seed %i', async (seed) => {
    const storm = new Storm(seed, options);
    await storm.rage(120);
    await storm.calm();
    expect(storm.terms.length, storm.story('too few were elected')).toBeGreaterThan(0);
    await storm.close();
  });
});
