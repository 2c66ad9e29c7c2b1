/**
 * Ends a test run with one plain line, `12 passed, 0 failed` or `11 passed, 1 failed, 2 skipped`,
 * in every case. Whatever kept tests from running counts as a failure of its own: a file that does
 * not load, a hook that throws, an uncaught error, an interrupted run. Above that line are the
 * failures once more, each with the beginning of its error, and the ten slowest files.
 */

import { stripVTControlCharacters } from 'node:util';

import type { Reporter, TestModule } from 'vitest/node';

import { writeOut } from './child.ts';
import { makeReport, REPORT, writeReport, type Counts, type FileTime, type RunReport } from './run-report.ts';
import { setting } from './settings.ts';

/** How many of the slowest files a run shows. */
const SHOWN = 10;
/** How many lines of an error the list of failures shows. */
const ERROR_LINES = 12;

export class CountReporter implements Reporter {
  #counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  #times: readonly FileTime[] = [];
  #failures: readonly string[] = [];

  /** The line is written when the process exits, so that no other reporter's output follows it. */
  onInit(): void {
    process.once('exit', (code) => {
      const { failed } = this.#counts;
      if (failed > 0) process.exitCode = 1;
      for (const line of [...this.#failures, ...slowest(this.#times)]) writeOut(`${line}\n`);
      // A run may fail before its first test or after its last.
      writeOut(`${inWords({ ...this.#counts, failed: code === 0 ? failed : Math.max(failed, 1) })}\n`);
    });
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const report = makeReport(modules, unhandledErrors);
    this.#counts = report;
    this.#times = report.times;
    this.#failures = failuresIn(report);
    const path = setting(REPORT);
    if (path !== undefined) writeReport(path, report);
  }
}

/** A line that begins with `FAILED` for each failure, and the beginning of its error, indented. */
function failuresIn({ files, stray }: RunReport): readonly string[] {
  const named = files.flatMap(({ file, tests }) =>
    tests.map(({ name, error }) => ({ title: name === '' ? file : `${file} > ${name}`, error })),
  );
  const unnamed = stray.map((error) => ({ title: 'an uncaught error', error }));
  return [...named, ...unnamed].flatMap(({ title, error }) => [
    `FAILED ${title}`,
    ...stripVTControlCharacters(error)
      .split('\n', ERROR_LINES)
      .map((line) => `    ${line}`),
  ]);
}

/** Empty for a run of few files. */
function slowest(times: readonly FileTime[]): readonly string[] {
  if (times.length <= SHOWN) return [];
  return [
    'Slowest files:',
    ...times.slice(0, SHOWN).map(({ project, file, seconds }) => `  ${seconds.toFixed(1)} s  ${file} (${project})`),
  ];
}

export function inWords({ passed, failed, skipped }: Counts): string {
  const line = `${passed} passed, ${failed} failed`;
  return skipped === 0 ? line : `${line}, ${skipped} skipped`;
}
