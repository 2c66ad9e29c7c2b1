/**
 * Runs tests with vitest, and each file that failed once more, alone. A file that passes then is
 * reported as flaky, and the run succeeds, because real servers in real time on a busy machine
 * sometimes fail for reasons outside the code. A file that fails twice fails the run.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { addFailures, decides, type FlakyTest } from './flaky-list.ts';
import { readReport, REPORT, type Counts, type FailedFile, type RunReport } from './run-report.ts';

export interface RunTwiceOptions {
  /** The arguments after `vitest run` in the first run: projects, paths. */
  readonly args: readonly string[];
  readonly flaky: readonly FlakyTest[];
  /** The date of new entries in the list: `2026-11-23`. */
  readonly date: string;
  readonly cwd?: string;
  /** Prints a line for people. */
  readonly say: (line: string) => void;
}

export interface RanTwice {
  readonly counts: Counts;
  /** The list, including this run's flaky tests. */
  readonly flaky: readonly FlakyTest[];
  /** A line for each flaky test of this run. */
  readonly summary: readonly string[];
}

/** If more files fail than this, the code is broken, and a second run would only take time. */
const MAX_FILES = 10;

/**
 * The environment variable with the first seed of tests that simulate other worlds in each run. A
 * file that failed gets the same worlds again, so that a broken promise fails twice.
 */
export const FRESH_START = 'SIMULATION_FRESH_START';

/** Options with the environment of both runs. */
interface BothRuns extends RunTwiceOptions {
  readonly env: NodeJS.ProcessEnv;
}

export async function runTwice(given: RunTwiceOptions): Promise<RanTwice> {
  const options: BothRuns = { ...given, env: { [FRESH_START]: String(Date.now() % 1_000_000_000), ...process.env } };
  const { args, say } = options;
  const first = await vitest(args, options);
  for (const error of first.stray) say(`An error that belongs to no test file fails the run: ${error}`);
  const deciding = first.files.filter(({ file, tests }) => tests.some(({ name }) => decides(options.flaky, file, name)));
  if (deciding.length > MAX_FILES) {
    say(`${deciding.length} files failed. No more than ${MAX_FILES} are run once more.`);
    return { counts: withoutIgnored(first, options), flaky: options.flaky, summary: [] };
  }
  let { passed, skipped } = first;
  let failed = first.stray.length;
  let { flaky } = options;
  const summary: string[] = [];
  for (const failure of first.files) {
    const result = await runAgain(failure, { ...options, flaky });
    passed += result.recovered;
    failed += result.failed;
    skipped += result.ignored;
    flaky = result.flaky;
    summary.push(...result.summary);
  }
  return { counts: { passed, failed, skipped }, flaky, summary };
}

/** The counts of a run without a second one. Failures of ignored tests count as skipped. */
function withoutIgnored({ passed, failed, skipped, files }: RunReport, { flaky, say }: RunTwiceOptions): Counts {
  const failures = files.flatMap(({ file, tests }) => tests.map(({ name }) => ({ file, name })));
  const ignored = failures.filter(({ file, name }) => !decides(flaky, file, name));
  for (const { file, name } of ignored) say(`FAILED, and is ignored, as it is on the list of flaky tests: ${file} > ${name}`);
  return { passed, failed: failed - ignored.length, skipped: skipped + ignored.length };
}

interface RanAgain {
  /** Failures of the first run that passed in the second one. */
  readonly recovered: number;
  /** Failures of the second run that count, and those that do not. */
  readonly failed: number;
  readonly ignored: number;
  readonly flaky: readonly FlakyTest[];
  readonly summary: readonly string[];
}

async function runAgain(failure: FailedFile, options: BothRuns): Promise<RanAgain> {
  const { flaky, say, date } = options;
  const { file, project, tests } = failure;
  say(`\n${file} failed. It runs once more, alone.`);
  const second = await vitest([...(project === '' ? [] : ['--project', project]), file], options);
  const again = [...second.files.flatMap((one) => one.tests), ...second.stray.map((error) => ({ name: '', error }))];
  const counting = again.filter(({ name }) => decides(flaky, file, name));
  for (const { name } of again.filter((test) => !counting.includes(test)))
    say(`FAILED TWICE, and is ignored, as it is on the list of flaky tests: ${file} > ${name}`);
  if (counting.length > 0) {
    for (const { name, error } of counting) say(`FAILED TWICE: ${file} > ${name}\n${indent(error)}`);
    return {
      recovered: Math.max(0, tests.length - again.length),
      failed: counting.length,
      ignored: again.length - counting.length,
      flaky,
      summary: [],
    };
  }
  for (const { name, error } of tests) say(`FLAKY: ${file} > ${name}\n${indent(error)}`);
  return {
    recovered: Math.max(0, tests.length - again.length),
    failed: 0,
    ignored: again.length,
    flaky: addFailures(flaky, failure, date),
    summary: tests.map(({ name, error }) => `FLAKY: ${file} > ${name}: ${error.split('\n', 1)[0] ?? ''}`),
  };
}

/**
 * One run. A run that fails without reporting a failure found no test, or ended before its report,
 * and has a stray failure.
 */
async function vitest(args: readonly string[], { cwd, env }: BothRuns): Promise<RunReport> {
  const folder = mkdtempSync(join(tmpdir(), 'incumbent-run-'));
  try {
    const path = join(folder, 'report.json');
    const ended = Promise.withResolvers<boolean>();
    const child = spawn('vitest', ['run', ...args], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...env, [REPORT]: path },
      cwd,
    });
    child.once('error', ended.reject);
    child.once('close', (code) => ended.resolve(code === 0));
    const isGreen = await ended.promise;
    const report = readReport(path) ?? { passed: 0, failed: 0, skipped: 0, times: [], files: [], stray: [] };
    const isTold = isGreen || report.files.length + report.stray.length > 0;
    return isTold ? report : { ...report, failed: 1, stray: ['vitest failed without a failed test: see its output'] };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '    ');
}
