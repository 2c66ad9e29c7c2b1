/**
 * `node --conditions=@incumbent/source packages/simulator/test/mutants/table.ts [worlds]`: every planted bug, and what it took to find it, as the page
 * docs/verification/mutants.md. Ends with a code other than 0 where one was not found.
 */

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bugs, type Bug } from '../../../core/test/support/explore/bugs.ts';
import { search } from '../../../core/test/support/explore/case.ts';
import { Broken } from '../../../core/test/support/explore/search.ts';
import { commit, date, FOLDER, machine } from '../../../../test/integration/ledger.ts';
import { catchMutant } from './catch.ts';
import type { Mutant } from './mutant.ts';
import { mutants } from './mutants.ts';

/** The most that try at the same time. */
const WORKERS = 2;

const most = Number(process.argv[2] ?? 3_000);
let escaped = 0;
let longest = 0;

/** One line of the table. */
async function simulated({ name, about, file }: Mutant): Promise<string> {
  const { worlds, by } = await catchMutant(name, most);
  if (by === undefined) escaped += 1;
  longest = Math.max(longest, worlds);
  const found = by === undefined ? ['**nothing**', ''] : [by.promise, `${by.profile}, ${by.seed}`];
  return row(about, `\`${name}\`, ${file}`, String(worlds), ...found);
}

function explored({ name, about, found, machine: wrong }: Bug): string {
  const { states } = search(found);
  try {
    search(found, wrong);
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    return row(about, `\`${name}\``, String(error.states), String(states), error.what, error.steps.slice(1).join('; '));
  }
  escaped += 1;
  return row(about, `\`${name}\``, '', String(states), '**nothing**', '');
}

function row(...cells: readonly string[]): string {
  const line = `| ${cells.join(' | ')} |`;
  console.log(line);
  return line;
}

/** In the order of the list, by a few at a time. */
async function all(list: readonly Mutant[]): Promise<readonly string[]> {
  const rows: string[] = [];
  const queue = list.entries();
  const worker = async (): Promise<void> => {
    for (const [index, one] of queue) rows[index] = await simulated(one);
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
  return rows;
}

const worlds = await all(mutants);
const control = await catchMutant(undefined, longest);
if (control.by !== undefined)
  throw new Error(`without any bug, ${control.by.profile}, seed ${control.by.seed} breaks: ${control.by.promise}`);
const states = bugs.map((one) => explored(one));
const page = [
  '# mutants',
  '',
  `Of ${mutants.length + bugs.length} bugs planted one at a time, ${escaped === 0 ? 'each is found' : `**${escaped} are not found**`}.`,
  '',
  'Each is one change that somebody might make. Written by `pnpm --filter @incumbent/simulator mutants`, whole, at each run.',
  '',
  `${date()}, commit ${commit()}, ${machine()}.`,
  '',
  '## Simulated worlds',
  '',
  'The source is changed as it is loaded, and worlds are run, of the profiles in which every promise holds in turn, from seed 1 on, until a promise breaks.',
  `Without any change, ${control.worlds} worlds of the same were run, as many as the most that a bug took, and broke none.`,
  '',
  '| bug | where | worlds | promise broken | profile, seed |',
  '|---|---|---|---|---|',
  ...worlds,
  '',
  '## Every order of events',
  '',
  'Two or three candidates over a store of a few lines, in every order of what may happen, breadth first, so that the way shown is a shortest one. States: until the bug is found, and in all without it, where nothing is broken.',
  '',
  '| bug | name | states | of | what is broken | the way there |',
  '|---|---|---|---|---|---|',
  ...states,
  '',
].join('\n');
const path = new URL('mutants.md', FOLDER);
writeFileSync(path, page);
console.log(`${fileURLToPath(path)}: ${escaped} not found`);
process.exitCode = escaped === 0 ? 0 : 1;
