/** Every planted bug, and what it took to find it, as the page docs/verification/chaos-mutants.md. */

import { writeFileSync } from 'node:fs';
import { commit, date, FOLDER, machine } from '../../integration/ledger.ts';
import { catchMutant, type Caught } from './catch.ts';
import { mutants, type Mutant } from './mutants.ts';

/** A run that draws no fault at the right moment finds nothing: the next seed is tried. */
const MOST = 4;

/** Resolves with how many bugs were not found, or broke something without being planted. */
export async function hunt(say: (line: string) => void): Promise<number> {
  let wrong = 0;
  const rows: string[] = [];
  for (const mutant of mutants) {
    const caught = await catchMutant(mutant, { most: MOST });
    const control = await catchMutant(mutant, { most: caught.runs, planted: false });
    if (caught.by === undefined) wrong += 1;
    if (control.by !== undefined) {
      wrong += 1;
      say(`without the bug: ${control.by.promise}: ${control.by.what}`);
    }
    rows.push(rowOf(mutant, caught, control));
    say(rows.at(-1) ?? '');
  }
  writeFileSync(new URL('chaos-mutants.md', FOLDER), pageOf(rows, wrong));
  return wrong;
}

function rowOf({ name, about, file, store, only }: Mutant, { runs, by }: Caught, control: Caught): string {
  const found = by === undefined ? ['**nothing**', ''] : [by.promise, `${(by.afterMs / 1_000).toFixed(1)} s`];
  const beside = control.by === undefined ? `${control.runs} broke nothing` : `**broken: ${control.by.promise}**`;
  return `| ${[about, `\`${name}\`, ${file}`, `${store}: ${only.join(', ')}`, String(runs), ...found, beside].join(' | ')} |`;
}

function pageOf(rows: readonly string[], wrong: number): string {
  return [
    '# chaos-mutants',
    '',
    `Of ${mutants.length} bugs planted one at a time, ${wrong === 0 ? 'each is found on real servers, and without it nothing is' : `**${wrong} are not found, or something is found without them**`}.`,
    '',
    'Each is one change that somebody might make. A module hook changes the source when a process of a run loads it; the run draws its faults, of those that are named, from the seeds 1, 2 and so',
    'on, until the checker finds a broken promise. The same runs without the bug must break nothing. Written by `pnpm chaos --mutants`, whole, at each run.',
    '',
    `${date()}, commit ${commit()}, ${machine()}.`,
    '',
    '| bug | where | store and faults | runs | promise broken | after | the same runs without the bug |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
