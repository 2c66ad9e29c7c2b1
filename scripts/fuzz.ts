/**
 * `pnpm fuzz [--minutes N] [--seed S] [--no-keep] [target …]`: feeds the readers of foreign input
 * (`test/fuzz/targets.ts` of each package) with changed and broken inputs, all targets in parallel,
 * for N minutes (default 1). `target` is a part of a target's name. Inputs that reach new code are
 * added to the corpus of the package, unless `--no-keep` is given. An input that shows a defect is
 * always added. Prints a line of counts at the end, and exits with 1 if there was a defect.
 */

import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { findTargets, fuzz } from '@incumbent/test-support/fuzz';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: { minutes: { type: 'string', default: '1' }, seed: { type: 'string' }, keep: { type: 'boolean', default: true } },
});
const [minutes, seed] = [Number(values.minutes), Number(values.seed ?? Date.now() % 1e6)];
const all = await findTargets(ROOT);
const targets = all.filter(({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)));
if (!(minutes > 0) || !Number.isSafeInteger(seed) || targets.length === 0) {
  console.error(`usage: pnpm fuzz [--minutes N] [--seed S] [--no-keep] [target …]; targets: ${all.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}
console.log(`${targets.length} targets for ${minutes} min, with the seed ${seed}`);
const { passed, failed } = await fuzz(targets, {
  seed,
  forMs: minutes * 60_000,
  keeps: values.keep,
  say: (line) => console.log(line),
});
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
