/**
 * `pnpm test:rest [path …]`: runs the tests that `pnpm test` leaves out, on real servers and in
 * real time. A file that fails runs once more, alone. If it passes then, it is flaky, and is
 * recorded in `test/flaky.json`. Prints a line of counts at the end, and exits with 1 if a file
 * failed twice.
 */

import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

import { readFlakyList, writeFlakyList } from '@incumbent/test-support/flaky-list';
import { inWords } from '@incumbent/test-support/reporter';
import { runTwice } from '@incumbent/test-support/run-twice';

const LIST = fileURLToPath(new URL('../test/flaky.json', import.meta.url));
const PROJECTS = ['elections', 'integration', 'simulation', 'chaos', 'e2e'];

// Most of these tests wait for a server. With one worker for each processor and one more, as in
// `pnpm test`, two processors are idle for half of the time.
process.env['VITEST_MAX_WORKERS'] ??= String(availableParallelism() + 2);

const before = readFlakyList(LIST);
const { counts, flaky, summary } = await runTwice({
  args: [...PROJECTS.flatMap((project) => ['--project', project]), ...process.argv.slice(2)],
  flaky: before,
  date: new Date().toISOString().slice(0, 10),
  say: (line) => console.log(line),
});
// Printed again, because the first lines are far above.
if (summary.length > 0) console.log(`\n${summary.join('\n')}`);
if (flaky !== before) {
  writeFlakyList(LIST, flaky);
  console.log('\nFlaky tests were added to test/flaky.json. Each is a bug to fix: commit the list, and open an issue.');
}
console.log(`\n${inWords(counts)}`);
process.exitCode = counts.failed === 0 ? 0 : 1;
