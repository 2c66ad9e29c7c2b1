/**
 * `pnpm --filter @incumbent/peer planted [worlds]`: every planted bug, and what it took to find it, as the page docs/verification/peer-mutants.md. Ends with a
 * code other than 0 where one was not found.
 */

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { commit, date, FOLDER, machine } from '../../../../test/integration/ledger.ts';
import { runBatch } from '../simulation/batch.ts';
import { bugs } from './bugs.ts';
import { find } from './find.ts';

const most = Number(process.argv[2] ?? 6_000);
const rows: string[] = [];
let [escaped, longest] = [0, 0];
for (const { name, about, file } of bugs) {
  const { worlds, promise } = await find(name, most);
  if (promise === undefined) escaped += 1;
  longest = Math.max(longest, worlds);
  rows.push(`| ${about} | \`${name}\`, ${file} | ${worlds} | ${promise ?? '**nothing**'} |`);
  console.log(rows.at(-1));
}
const { failed } = runBatch(1, longest);
if (failed.length > 0) throw new Error(`without any bug, seed ${failed[0]?.plan.seed} breaks: ${failed[0]?.violations[0]?.promise}`);

const page = [
  '# peer-mutants',
  '',
  `Of ${bugs.length} bugs planted one at a time in \`@incumbent/peer\`, ${escaped === 0 ? 'each is found' : `**${escaped} are not found**`}.`,
  '',
  'The source is changed as it is loaded, and worlds are run from seed 1 on, until a promise breaks. Written by `pnpm --filter @incumbent/peer planted`, whole, at each run.',
  `Without any change, the same ${longest} worlds, as many as the most that a bug took, broke none.`,
  '',
  `${date()}, commit ${commit()}, ${machine()}.`,
  '',
  '| bug | where | worlds | promise broken |',
  '|---|---|---|---|',
  ...rows,
  '',
];
writeFileSync(fileURLToPath(new URL('peer-mutants.md', FOLDER)), page.join('\n'));
process.exitCode = escaped === 0 ? 0 : 1;
