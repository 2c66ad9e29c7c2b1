/**
 * Planted bugs, each of which the simulator must catch. Otherwise it would miss similar bugs that
 * are not planted. The test first tries the world that caught each bug last, so it needs only a
 * world or two while worlds stay the same, and then the plans of the corpus. The table in the
 * evidence shows how many worlds each bug takes from seed 1 on.
 */

import { describe, expect, it } from 'vitest';
import { profileOf, run } from '../src/index.ts';
import { catchMutant } from './mutants/catch.ts';
import { lastFound } from './mutants/last-found.ts';
import { mutants } from './mutants/mutants.ts';

const MOST_WORLDS = 3_000;
const found = lastFound();

describe('a bug is caught', () => {
  it.for(mutants)('$name: $about', async ({ name }, { signal }) => {
    const caught = await catchMutant(name, MOST_WORLDS, { first: found.get(name), corpus: true, signal });
    expect(caught.by, `not caught in ${caught.worlds} worlds`).toBeDefined();
  });

  it('no promise breaks in the same worlds without a bug', async () => {
    expect(found.size).toBeGreaterThan(mutants.length / 2);
    for (const { profile, seed } of found.values())
      expect((await run(profileOf(profile).plan(seed))).violations, `${profile}, seed ${seed}`).toEqual([]);
  });

  it('a bug whose text is not in the source any more is refused', async () => {
    await expect(catchMutant('noSuchMutant', 1)).rejects.toThrow('no such mutant: noSuchMutant');
  });
});
