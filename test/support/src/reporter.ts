/**
 * Ends a run of the tests with one plain line, `12 passed, 0 failed` or `11 passed, 1 failed, 2 skipped`, whatever happened. What kept tests
 * from running counts as a failure of its own: a file that does not load, a hook that throws, an error that nobody caught, a run cut short.
 */

import { writeSync } from 'node:fs';

import type { Reporter, TestModule, TestSuite } from 'vitest/node';

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export class CountReporter implements Reporter {
  #counts: Counts = { passed: 0, failed: 0, skipped: 0 };

  /** The line is written as the process exits, so that no other reporter's output follows it. */
  onInit(): void {
    process.once('exit', (code) => {
      const { failed } = this.#counts;
      if (failed > 0) process.exitCode = 1;
      // A run may fail before its first test, or after its last.
      const line = inWords({ ...this.#counts, failed: code === 0 ? failed : Math.max(failed, 1) });
      writeSync(1, `${line}\n`);
    });
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    this.#counts = count(modules, unhandledErrors.length);
  }
}

function inWords({ passed, failed, skipped }: Counts): string {
  const line = `${passed} passed, ${failed} failed`;
  return skipped === 0 ? line : `${line}, ${skipped} skipped`;
}

function count(modules: readonly TestModule[], unhandledErrors: number): Counts {
  const tests = modules.flatMap(({ children }) => [...children.allTests()]);
  const passed = tests.filter((test) => test.result().state === 'passed').length;
  const skipped = tests.filter((test) => test.result().state === 'skipped').length;
  const suites: readonly (TestModule | TestSuite)[] = modules.flatMap((module) => [module, ...module.children.allSuites()]);
  const broken = suites.filter((suite) => suite.errors().length > 0).length;
  return { passed, skipped, failed: tests.length - passed - skipped + broken + unhandledErrors };
}
