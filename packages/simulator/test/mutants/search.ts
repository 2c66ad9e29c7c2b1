/**
 * Runs worlds of the safe profiles in turn until one breaks a promise. Prints which one, or that
 * none did, as one line of JSON. Arguments: the most worlds to try, whether to try the plans of the
 * corpus first (`corpus`), and optionally the profile and the seed of the world to try before all.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { type Plan, profileOf, readPlan, run } from '@incumbent/simulator';
import type { Caught } from './catch.ts';
import type { World } from './last-found.ts';

// Nobody reads the stack traces of the many errors in a world.
Error.stackTraceLimit = 0;

/** The other profiles have fewer kinds of faults. */
const [often, seldom] = [
  ['stormy', 'adversarial', 'calm'],
  ['reaped', 'blocked', 'operator', 'earlyEnd'],
];

const [most, corpus, firstProfile, firstSeed] = process.argv.slice(2);

/** A plan, and the promises that may break in it. */
interface Trial {
  readonly plan: Plan;
  readonly breaks: readonly string[];
}

/** The plans in which a bug was found once. */
function kept(): readonly Trial[] {
  const folder = join(import.meta.dirname, '../../corpus');
  return readdirSync(folder).map((name) => {
    const { breaks, plan }: { breaks: readonly string[]; plan: unknown } = JSON.parse(readFileSync(join(folder, name), 'utf8'));
    return { plan: readPlan(JSON.stringify(plan)), breaks };
  });
}

function* trials(): Generator<Trial> {
  if (firstProfile !== undefined) yield drawn({ profile: firstProfile, seed: Number(firstSeed) });
  if (corpus === 'corpus') yield* kept();
  for (const world of worlds()) yield drawn(world);
}

function drawn({ profile, seed }: World): Trial {
  return { plan: profileOf(profile).plan(seed), breaks: [] };
}

function* worlds(): Generator<World> {
  for (let seed = 1; ; seed += 1) for (const profile of seed % 4 === 0 ? [...often, ...seldom] : often) yield { profile, seed };
}

async function search(): Promise<Caught> {
  let tried = 0;
  for (const { plan, breaks } of trials()) {
    if (tried === Number(most)) break;
    tried += 1;
    const { profile, seed } = plan;
    const first = (await run(plan)).violations.find(({ promise }) => !breaks.includes(promise));
    if (first !== undefined) return { worlds: tried, by: { profile, seed, promise: first.promise, what: first.what } };
  }
  return { worlds: tried };
}

process.stdout.write(`${JSON.stringify(await search())}\n`);
// Ends whatever the bug has left running.
process.exit(0);
