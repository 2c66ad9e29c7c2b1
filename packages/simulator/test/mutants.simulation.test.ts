/** Planted bugs, each of which the simulator must catch: else it would not catch the next one that nobody has planted. */

import { describe, expect, it } from 'vitest';
import { catchMutant } from './mutants/catch.ts';
import { mutants } from './mutants/mutants.ts';

const MOST_WORLDS = 3_000;

describe('a bug is caught', () => {
  it.each(mutants)('$name: $about', async ({ name }) => {
    const caught = await catchMutant(name, MOST_WORLDS);
    expect(caught.by, `not caught in ${caught.worlds} worlds`).toBeDefined();
  });

  it('and no promise breaks where there is none: the same worlds, without', async () => {
    const { run, profileOf } = await import('../src/index.ts');
    for (let seed = 1; seed <= 20; seed += 1) {
      for (const profile of ['stormy', 'adversarial', 'calm', 'operator', 'earlyEnd'])
        expect((await run(profileOf(profile).plan(seed))).violations, `${profile}, seed ${seed}`).toEqual([]);
    }
  });

  it('but not one that does not fit the source any more', async () => {
    await expect(catchMutant('noSuchMutant', 1)).rejects.toThrow('no such mutant: noSuchMutant');
  });
});
