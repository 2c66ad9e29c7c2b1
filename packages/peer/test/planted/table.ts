/**
 * `pnpm --filter @incumbent/peer planted [worlds]`: every planted bug, and what it took to find it, as the pages docs/verification/peer-mutants.md and
 * peer-best-effort-mutants.md. Ends with a code other than 0 where one was not found.
 */

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { commit, date, FOLDER, machine } from '../../../../test/integration/ledger.ts';
import { names } from '../best-effort/algorithms.ts';
import { runBatch as runBestEffort } from '../best-effort/batch.ts';
import { runBatch } from '../simulation/batch.ts';
import { bestEffortBugs } from './best-effort-bugs.ts';
import { bugs, type Bug } from './bugs.ts';
import { find } from './find.ts';

const most = Number(process.argv[2] ?? 6_000);

/** `break`: what the worlds break without any bug, up to so many. */
async function table(name: string, planted: readonly Bug[], breaks: (worlds: number) => readonly number[]): Promise<number> {
  const rows: string[] = [];
  let [escaped, longest] = [0, 0];
  for (const bug of planted) {
    const { worlds, promise } = await find(bug, most);
    if (promise === undefined) escaped += 1;
    longest = Math.max(longest, worlds);
    const cells = [bug.about, `\`${bug.name}\`, ${bug.file}`, ...(bug.on === undefined ? [] : [bug.on]), worlds, promise ?? '**nothing**'];
    rows.push(`| ${cells.join(' | ')} |`);
    console.log(rows.at(-1));
  }
  const broken = breaks(longest);
  if (broken.length > 0) throw new Error(`without any bug, seed ${broken[0]} breaks a promise`);
  const heads = ['bug', 'where', ...(planted.some(({ on }) => on !== undefined) ? ['election'] : []), 'worlds', 'promise broken'];
  const page = [
    `# ${name}`,
    '',
    `Of ${planted.length} bugs planted one at a time in \`@incumbent/peer\`, ${escaped === 0 ? 'each is found' : `**${escaped} are not found**`}.`,
    '',
    'The source is changed as it is loaded, and worlds are run from seed 1 on, until a promise breaks. Written by `pnpm --filter @incumbent/peer planted`, whole, at each run.',
    `Without any change, the same ${longest} worlds, as many as the most that a bug took, broke none.`,
    '',
    `${date()}, commit ${commit()}, ${machine()}.`,
    '',
    `| ${heads.join(' | ')} |`,
    `|${'---|'.repeat(heads.length)}`,
    ...rows,
    '',
  ];
  writeFileSync(fileURLToPath(new URL(`${name}.md`, FOLDER)), page.join('\n'));
  return escaped;
}

const seedsOf = (failed: readonly { readonly plan: { readonly seed: number } }[]): readonly number[] => failed.map(({ plan }) => plan.seed);
const escaped =
  (await table('peer-mutants', bugs, (worlds) => seedsOf(runBatch(1, worlds).failed))) +
  (await table('peer-best-effort-mutants', bestEffortBugs, (worlds) =>
    names.flatMap((name) => seedsOf(runBestEffort(name, 1, worlds).failed)),
  ));
process.exitCode = escaped === 0 ? 0 : 1;
