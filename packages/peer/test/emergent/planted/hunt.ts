/** Runs worlds until one breaks a promise, and tells which, as one line of JSON. */

import type { Found } from '../../planted/find.ts';
import { planOf } from '../simulation/plan.ts';
import { run } from '../simulation/world.ts';

const most = Number(process.argv[2]);

function hunt(): Found {
  for (let seed = 1; seed <= most; seed += 1) {
    const [first] = run(planOf(seed)).violations;
    if (first !== undefined) return { worlds: seed, promise: first.promise, what: first.what };
  }
  return { worlds: most };
}

console.log(JSON.stringify(hunt()));
