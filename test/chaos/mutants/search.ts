/**
 * `pnpm chaos --mutants`: plants every bug, searches for it on real servers, and adds the results
 * to the evidence.
 */

import { append, spreadOf } from '../../integration/evidence/runs.ts';
import { catchMutant } from './catch.ts';
import { mutants, type Mutant } from './mutants.ts';

/**
 * A run that draws no fault at the right moment finds nothing, so that the next seed is tried. At
 * most this many runs.
 */
const MOST = 4;

/**
 * Resolves with the number of bugs that were not found, or whose run broke a promise without the
 * bug.
 */
export async function search(say: (line: string) => void): Promise<number> {
  let wrong = 0;
  for (const mutant of mutants) if (!(await isFound(mutant, say))) wrong += 1;
  return wrong;
}

async function isFound(mutant: Mutant, say: (line: string) => void): Promise<boolean> {
  const { name, about, store, only } = mutant;
  const { runs, by } = await catchMutant(mutant, { most: MOST });
  const control = await catchMutant(mutant, { most: runs, planted: false });
  const passed = by !== undefined && control.by === undefined;
  const found = by === undefined ? 'NOT FOUND' : `${by.promise}, after ${(by.afterMs / 1_000).toFixed(1)} s`;
  const beside = control.by === undefined ? '' : `; WITHOUT THE BUG: ${control.by.promise}: ${control.by.what}`;
  say(`${name} (${about}), ${store}, ${only.join(', ')}: ${found}, in ${runs} runs${beside}`);
  append({
    claim: 'planted-bugs-chaos',
    part: name,
    seed: 1,
    passed: passed ? 1 : 0,
    failed: passed ? 0 : 1,
    figures: spreadOf([{ runs, ...(by === undefined ? {} : { afterMs: by.afterMs }) }]),
    on: store,
    ...(by === undefined ? {} : { promise: by.promise }),
  });
  return passed;
}
