/**
 * `pnpm test:rest [path …]`: the tests that `pnpm test` leaves out, on real servers and in real
 * time. A file that fails runs once more, alone; where it passes then, it is flaky, which
 * `test/flaky.json` keeps. Ends with a line of counts, and with 1 where something failed twice.
 */

import { fileURLToPath } from 'node:url';

import { readFlakyList, writeFlakyList } from '@incumbent/test-support/flaky-list';
import { inWords } from '@incumbent/test-support/reporter';
import { runTwice } from '@incumbent/test-support/run-twice';

const LIST = fileURLToPath(new URL('../test/flaky.json', import.meta.url));
const PROJECTS = ['elections', 'integration', 'simulation', 'chaos', 'e2e'];

const before = readFlakyList(LIST);
const { counts, flaky, summary } = await runTwice({
  args: [...PROJECTS.flatMap((project) => ['--project', project]), ...process.argv.slice(2)],
  flaky: before,
  date: new Date().toISOString().slice(0, 10),
  say: (line) => console.log(line),
});
// Once more, as they stand far above.
if (summary.length > 0) console.log(`\n${summary.join('\n')}`);
if (flaky !== before) {
  writeFlakyList(LIST, flaky);
  console.log('\nFlaky tests were added to test/flaky.json. Each is a bug to fix: commit the list, and open an issue.');
}
console.log(`\n${inWords(counts)}`);
process.exitCode = counts.failed === 0 ? 0 : 1;
