/** `hunt.ts MOST [ALGORITHM]`: runs worlds until one breaks a promise, and tells which, as one line of JSON. */

import { names } from '../best-effort/algorithms.ts';
import * as bestEffort from '../best-effort/plan.ts';
import { run as runBestEffort } from '../best-effort/world.ts';
import type { Violation } from '../simulation/checks.ts';
import { planOf } from '../simulation/plan.ts';
import { run } from '../simulation/world.ts';
import type { Found } from './find.ts';

const [most, on] = [Number(process.argv[2]), names.find((name) => name === process.argv[3])];

function violations(seed: number): readonly Violation[] {
  return on === undefined ? run(planOf(seed)).violations : runBestEffort(bestEffort.planOf(on, seed)).violations;
}

function hunt(): Found {
  for (let seed = 1; seed <= most; seed += 1) {
    const [first] = violations(seed);
    if (first !== undefined) return { worlds: seed, promise: first.promise, what: first.what };
  }
  return { worlds: most };
}

console.log(JSON.stringify(hunt()));
