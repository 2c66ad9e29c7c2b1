/**
 * `pnpm simulate [--profile P,…|all] [--seeds N] [--start S] [--seconds T] [--workers W]`: runs
 * worlds of seeds on all cores. The profiles share the time equally. Prints a summary and the seeds
 * that failed, and exits with a code other than 0 if any did.
 *
 * `pnpm simulate --profile P --replay S [--shrink [--promise NAME]] [--all]`: runs one seed and
 * prints its timeline. `--shrink` reduces its plan while it still breaks the promise (default: the
 * first one that it breaks), and prints the plan.
 *
 * `pnpm simulate --plan FILE [--all]`: does the same for a plan in a file.
 */

import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import {
  emptySummary,
  merge,
  missing,
  profileOf,
  profiles,
  readPlan,
  run,
  shrink,
  Timeline,
  type Plan,
  type Summary,
} from '@incumbent/simulator';
import { numberOption } from '@incumbent/test-support/number-option';
import { Worker, WORLDS, type Batch } from '../test/integration/simulation/workers.ts';

/** How many seeds a worker takes at a time. */
const CHUNK = 50;
const PROGRESS_MS = 10_000;
/** More failing seeds than this would say nothing new. */
const SHOWN = 10;

const { values } = parseArgs({
  options: {
    profile: { type: 'string', default: 'stormy' },
    seeds: { type: 'string', default: '2000' },
    start: { type: 'string' },
    seconds: { type: 'string', default: '86400' },
    workers: { type: 'string' },
    replay: { type: 'string' },
    plan: { type: 'string' },
    shrink: { type: 'boolean', default: false },
    promise: { type: 'string' },
    all: { type: 'boolean', default: false },
  },
});

// Checked before anything runs: with NaN, a loop would run nothing until its time is over.
const seeds = numberOption('seeds', values.seeds, { from: 1 });
const start = numberOption('start', values.start ?? String(Date.now() % 1_000_000_000), { from: 0 });
const forMs = 1_000 * numberOption('seconds', values.seconds, { from: 1, fractions: true });
const workers = numberOption('workers', values.workers ?? String(availableParallelism()), { from: 1, to: 256 });

if (values.plan !== undefined) process.exitCode = await show(readPlan(readFileSync(values.plan, 'utf8')));
else if (values.replay !== undefined)
  process.exitCode = await show(profileOf(values.profile).plan(numberOption('replay', values.replay, { from: 0 })));
else process.exitCode = await batches();

async function batches(): Promise<number> {
  const names = values.profile === 'all' ? profiles.map(({ name }) => name) : values.profile.split(',');
  let failed = 0;
  for (const name of names) failed += await batch(profileOf(name).name, performance.now() + forMs / names.length);
  return failed === 0 ? 0 : 1;
}

async function batch(profile: string, endsAt: number): Promise<number> {
  const total = emptySummary(profile);
  const began = performance.now();
  const last = start + seeds;
  let next = start;
  const take = (): Batch | undefined => {
    if (next >= last || performance.now() > endsAt) return undefined;
    const chunk = { profile, start: next, count: Math.min(CHUNK, last - next) };
    next += chunk.count;
    return chunk;
  };
  const progress = setInterval(() => console.log(`  ${lineOf(total, began)}`), PROGRESS_MS);
  const done = (summary: Summary): void => {
    for (const { seed, violations } of summary.failed) console.log(`  failed: seed ${seed}: ${violations[0]?.promise}`);
    merge(total, summary);
  };
  await Promise.all(Array.from({ length: workers }, () => drive(take, done)));
  clearInterval(progress);
  return report(total, began);
}

/** Keeps one worker busy until no seeds are left. */
async function drive(take: () => Batch | undefined, done: (summary: Summary) => void): Promise<void> {
  using worker = new Worker<Batch, Summary>(WORLDS);
  for (let chunk = take(); chunk !== undefined; chunk = take()) done(await worker.run(chunk));
}

function lineOf({ profile, runs, simulatedMs, failed }: Summary, began: number): string {
  const seconds = (performance.now() - began) / 1_000;
  return `${profile}: ${runs} seeds, ${Math.round(simulatedMs / 60_000)} simulated minutes in ${seconds.toFixed(0)} s, ${failed.length} failed`;
}

function report(total: Summary, began: number): number {
  const seconds = (performance.now() - began) / 1_000;
  console.log(lineOf(total, began));
  console.log(`  seeds ${start} to ${start + total.runs - 1}; ${total.replayed} run twice; ${total.events} events`);
  console.log(`  ${Math.round(total.simulatedMs / 60_000 / seconds / workers)} simulated minutes per second and worker, of ${workers}`);
  console.log(`  longest, in ttls: ${listOf(total.longestTtls, 2)}`);
  if (values.all) console.log(`  ${listOf(total.counts, 0)}`);
  if (Object.keys(total.broken).length > 0) console.log(`  broken, as the docs warn: ${listOf(total.broken, 0)}`);
  const lacking = missing(total);
  for (const line of lacking) console.log(`  MISSING ${line}`);
  for (const { seed, violations } of total.failed.slice(0, SHOWN)) {
    console.log(`  FAILED seed ${seed}: ${violations.map(({ promise, what }) => `${promise} (${what})`).join('; ')}`);
    console.log(`    again: pnpm simulate --profile ${total.profile} --replay ${seed}`);
  }
  if (total.failed.length > SHOWN)
    console.log(
      `  FAILED besides: ${total.failed
        .slice(SHOWN)
        .map(({ seed }) => seed)
        .join(' ')}`,
    );
  return total.failed.length + lacking.length;
}

function listOf(figures: Readonly<Record<string, number>>, digits: number): string {
  return Object.entries(figures)
    .map(([name, figure]) => `${name} ${figure.toFixed(digits)}`)
    .join(', ');
}

async function show(drawn: Plan): Promise<number> {
  const plan = values.shrink ? await smallest(drawn) : drawn;
  const timeline = new Timeline({ all: values.all });
  const { violations, hash, figures } = await run(plan, { listener: timeline });
  for (const line of timeline.lines) console.log(line);
  if (values.shrink) console.log(JSON.stringify(plan));
  console.log({ hash, ...figures });
  for (const { promise, atMs, what } of violations) console.log(`BROKEN at ${atMs} ms: ${promise}: ${what}`);
  return violations.length === 0 ? 0 : 1;
}

/** The smallest plan that breaks the same promise. */
async function smallest(plan: Plan): Promise<Plan> {
  const broken = values.promise ?? (await run(plan)).violations[0]?.promise;
  if (broken === undefined) return plan;
  return shrink(plan, async (smaller) => (await run(smaller)).violations.some(({ promise }) => promise === broken));
}
