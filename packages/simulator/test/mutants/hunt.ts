/** Runs worlds, of the safe profiles in turn, until one breaks a promise; tells which, or that none did, as one line of JSON. */

import { profileOf, run } from '@incumbent/simulator';
import type { Caught } from './catch.ts';

const most = Number(process.argv[2]);

async function hunt(): Promise<Caught> {
  let worlds = 0;
  for (let seed = 1; ; seed += 1) {
    for (const profile of ['stormy', 'adversarial', 'calm']) {
      if (worlds === most) return { worlds };
      worlds += 1;
      const [first] = (await run(profileOf(profile).plan(seed))).violations;
      if (first !== undefined) return { worlds, by: { profile, seed, promise: first.promise, what: first.what } };
    }
  }
}

process.stdout.write(`${JSON.stringify(await hunt())}\n`);
// Whatever the bug has left running.
process.exit(0);
