/**
 * `pnpm verify <name> [--runs N] [--seed S] [--minutes M] [--busy N]`: measures a claim while N
 * busy loops run, and adds the results to the evidence. `all` runs every check.
 */

import { parseArgs } from 'node:util';
import { writeFileSync } from 'node:fs';
import { numberOption } from '@incumbent/test-support/number-option';
import { randomOf } from '@incumbent/test-support/random';
import { BusyLoops } from '../test/integration/busy.ts';
import type { Check, Figures } from '../test/integration/checks/check.ts';
import { allChecks, claims } from '../test/integration/evidence/claims.ts';
import { pageOf } from '../test/integration/evidence/page.ts';
import { append, PAGE, readLines, spreadOf, summary } from '../test/integration/evidence/runs.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: 'string' }, seed: { type: 'string' }, minutes: { type: 'string' }, busy: { type: 'string' } },
});
const [name] = positionals;
const chosen = allChecks.filter((check) => name === 'all' || check.name === name);
if (chosen.length === 0) {
  console.error(
    `usage: pnpm verify <name> [--runs N] [--seed S] [--minutes M] [--busy N]; names: ${allChecks.map((check) => check.name).join(', ')}, all`,
  );
  process.exit(2);
}

const busy = numberOption('busy', values.busy ?? '0', { from: 0, to: 64 });
const lasting = values.minutes === undefined ? {} : { minutes: numberOption('minutes', values.minutes, { from: 0.01, fractions: true }) };
const chosenRuns = values.runs === undefined ? undefined : numberOption('runs', values.runs, { from: 1 });
const seed = numberOption('seed', values.seed ?? String(Date.now() % 1e6), { from: 0 });
let failures = 0;
for (const check of chosen) failures += await verify(check, chosenRuns ?? check.runs);
writeFileSync(PAGE, pageOf(claims, readLines()));
process.exitCode = failures === 0 ? 0 : 1;

async function verify(check: Check, runs: number): Promise<number> {
  console.log(`${check.name}: ${check.claim}`);
  if ((await check.canRun?.()) === false) {
    console.log(`  skipped: this machine cannot run ${check.name}`);
    return name === 'all' ? 0 : 1;
  }
  const figures: Figures[] = [];
  let failed = 0;
  {
    using _loops = new BusyLoops(busy);
    await using opened = await check.open();
    const queue = Array.from({ length: runs }, (_, index) => index).values();
    const worker = async (): Promise<void> => {
      for (const index of queue) {
        try {
          const run = await opened.run(index, { seed, random: randomOf(seed + index), isTimed: true, ...lasting });
          figures.push(run.figures);
          console.log(`  run ${index + 1}: ${summary([run.figures])}`);
        } catch (error) {
          failed += 1;
          console.log(`  run ${index + 1}: FAILED`, error);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(check.parallel, runs) }, worker));
  }
  append({ claim: check.name, seed, passed: figures.length, failed, figures: spreadOf(figures), ...(busy === 0 ? {} : { busy }) });
  console.log(`  ${figures.length} of ${runs} passed; ${summary(figures)}`);
  return failed;
}
