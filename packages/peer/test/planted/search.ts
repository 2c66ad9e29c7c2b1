/**
 * `search.ts ALGORITHM MOST`: runs worlds until one breaks a promise, and prints which one as a
 * line of JSON.
 */

import { simulationOf } from '../simulation/simulations.ts';
import type { Found } from './find.ts';

function search(on: string, most: number): Found {
  const simulation = simulationOf(on);
  for (let seed = 1; seed <= most; seed += 1) {
    const [first] = simulation.run(seed).violations;
    if (first !== undefined) return { worlds: seed, promise: first.promise, what: first.what };
  }
  return { worlds: most };
}

const [on = '', most] = process.argv.slice(2);
console.log(JSON.stringify(search(on, Number(most))));
