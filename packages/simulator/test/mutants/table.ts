/**
 * `pnpm --filter @incumbent/simulator mutants [worlds]`: plants every bug, searches for it, and
 * adds the results to the evidence. Exits with a code other than 0 if one was not found.
 */

import { bugs, type Bug } from '../../../core/test/support/explore/bugs.ts';
import { search } from '../../../core/test/support/explore/case.ts';
import { Broken } from '../../../core/test/support/explore/search.ts';
import { append, spreadOf } from '../../../../test/integration/evidence/runs.ts';
import { catchMutant } from './catch.ts';
import type { Mutant } from './mutant.ts';
import { mutants } from './mutants.ts';

/** How many bugs are searched for at the same time. */
const WORKERS = 2;

const most = Number(process.argv[2] ?? 3_000);
let escaped = 0;
let longest = 0;

async function simulate({ name, about }: Mutant): Promise<void> {
  const { worlds, by } = await catchMutant(name, most);
  if (by === undefined) escaped += 1;
  longest = Math.max(longest, worlds);
  console.log(`${name} (${about}): ${by === undefined ? `NOT FOUND in ${worlds} worlds` : `${worlds} worlds, ${by.promise}`}`);
  append({
    claim: 'planted-bugs',
    part: name,
    seed: by?.seed ?? 1,
    passed: by === undefined ? 0 : 1,
    failed: by === undefined ? 1 : 0,
    figures: spreadOf([{ worlds }]),
    ...(by === undefined ? {} : { promise: by.promise, profile: by.profile }),
  });
}

function explore({ name, about, found, machine }: Bug): void {
  const broken = breaks(found, machine);
  if (broken === undefined) escaped += 1;
  console.log(`${name} (${about}): ${broken === undefined ? 'NOT FOUND' : `${broken.states} states, ${broken.what}`}`);
  append({
    claim: 'planted-bugs-explorer',
    part: name,
    seed: 0,
    passed: broken === undefined ? 0 : 1,
    failed: broken === undefined ? 1 : 0,
    figures: spreadOf(broken === undefined ? [] : [{ states: broken.states }]),
    ...(broken === undefined ? {} : { promise: broken.what }),
  });
}

function breaks(found: Bug['found'], machine: Bug['machine']): Broken | undefined {
  try {
    search(found, machine);
    return undefined;
  } catch (error) {
    if (error instanceof Broken) return error;
    throw error;
  }
}

const queue = mutants.values();
const worker = async (): Promise<void> => {
  for (const one of queue) await simulate(one);
};
await Promise.all(Array.from({ length: WORKERS }, worker));
const control = await catchMutant(undefined, longest);
if (control.by !== undefined)
  throw new Error(`without any bug, ${control.by.profile}, seed ${control.by.seed} breaks: ${control.by.promise}`);
for (const bug of bugs) {
  search(bug.found);
  explore(bug);
}
console.log(`${mutants.length + bugs.length} bugs, ${escaped} not found; ${control.worlds} worlds without a bug broke nothing`);
process.exitCode = escaped === 0 ? 0 : 1;
