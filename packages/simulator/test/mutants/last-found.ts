/** Where each planted bug was last found, according to the evidence. */

import { readLines } from '../../../../test/integration/evidence/runs.ts';

/** One world: the plan of a seed. */
export interface World {
  readonly profile: string;
  readonly seed: number;
}

/** By the bug's name. A bug that was never searched for is missing. */
export function lastFound(): ReadonlyMap<string, World> {
  const found = new Map<string, World>();
  for (const { claim, part, profile, seed } of readLines()) {
    if (claim === 'planted-bugs' && part !== undefined && profile !== undefined) found.set(part, { profile, seed });
  }
  return found;
}
