/**
 * `pnpm --filter @incumbent/peer planted [worlds]`: every planted bug, and what it took to find it, as the pages docs/verification/peer-mutants.md,
 * peer-best-effort-mutants.md and peer-emergent-mutants.md. Ends with a code other than 0 where one was not found.
 */

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { commit, date, FOLDER, machine } from '../../../../test/integration/ledger.ts';
import { runBatch } from '../simulation/batch.ts';
import { simulationOf } from '../simulation/simulations.ts';
import { bestEffortBugs } from './best-effort-bugs.ts';
import type { Bug } from './bug.ts';
import { emergentBugs } from './emergent-bugs.ts';
import { find } from './find.ts';
import { quorumBugs } from './quorum-bugs.ts';

const most = Number(process.argv[2] ?? 6_000);

/** Writes one page. How many of its bugs were not found. */
async function table(name: string, planted: readonly Bug[]): Promise<number> {
  const elections = [...new Set(planted.map(({ on }) => on))];
  const rows: string[] = [];
  let [escaped, longest] = [0, 0];
  for (const bug of planted) {
    const { worlds, promise } = await find(bug, most);
    if (promise === undefined) escaped += 1;
    longest = Math.max(longest, worlds);
    const cells = [bug.about, `\`${bug.name}\`, ${bug.file}`, ...(elections.length > 1 ? [bug.on] : []), worlds, promise ?? '**nothing**'];
    rows.push(`| ${cells.join(' | ')} |`);
    console.log(rows.at(-1));
  }
  for (const on of elections)
    for (const { plan } of runBatch(simulationOf(on), 1, longest).failed)
      throw new Error(`without any bug, seed ${plan.seed} of ${on} breaks a promise`);
  const heads = ['bug', 'where', ...(elections.length > 1 ? ['election'] : []), 'worlds', 'promise broken'];
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

const pages = { 'peer-mutants': quorumBugs, 'peer-best-effort-mutants': bestEffortBugs, 'peer-emergent-mutants': emergentBugs };
for (const [name, planted] of Object.entries(pages)) if ((await table(name, planted)) > 0) process.exitCode = 1;
