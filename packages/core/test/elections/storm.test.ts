import { describe, expect, it } from 'vitest';
import { Storm } from '../support/storm.ts';

const seeds = Array.from({ length: Number(process.env['STORM'] ?? 20) }, (_, i) => i + 1 + Number(process.env['STORM_FROM'] ?? 0));

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
