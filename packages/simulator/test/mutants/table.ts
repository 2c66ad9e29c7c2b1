/** `node --conditions=@incumbent/source packages/simulator/test/mutants/table.ts [worlds]`: every mutant, and what it took to catch it, as a table in Markdown. */

import { catchMutant } from './catch.ts';
import { mutants } from './mutants.ts';

const most = Number(process.argv[2] ?? 3_000);
const lines: string[] = ['| bug | worlds | caught by |', '|---|---|---|'];
let escaped = 0;
for (const { name, about } of mutants) {
  const { worlds, by } = await catchMutant(name, most);
  if (by === undefined) escaped += 1;
  lines.push(
    `| ${about} (\`${name}\`) | ${worlds} | ${by === undefined ? '**nothing**' : `${by.promise} (${by.profile}, seed ${by.seed})`} |`,
  );
  console.error(lines.at(-1));
}
console.log(lines.join('\n'));
process.exitCode = escaped === 0 ? 0 : 1;
