/** The results of one test run, written for the process that started it. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';

import type { TestCase, TestModule, TestSuite } from 'vitest/node';

/** The environment variable with the path of a run's report. */
export const REPORT = 'INCUMBENT_TEST_REPORT';

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface FailedTest {
  /**
   * The test's name with its groups, as in `a leader > resigns`. Empty if the file itself failed.
   */
  readonly name: string;
  readonly error: string;
}

export interface FailedFile {
  readonly project: string;
  /** Its path, from the workspace's root. */
  readonly file: string;
  readonly tests: readonly FailedTest[];
}

/** How long a file took, including its loading and its hooks. */
export interface FileTime {
  readonly project: string;
  /** Its path, from the workspace's root. */
  readonly file: string;
  readonly seconds: number;
}

export interface RunReport extends Counts {
  readonly files: readonly FailedFile[];
  /** All files, the slowest first. */
  readonly times: readonly FileTime[];
  /** Uncaught errors whose file vitest does not know. */
  readonly stray: readonly string[];
}

export function makeReport(modules: readonly TestModule[], unhandled: readonly unknown[]): RunReport {
  const tests = modules.flatMap(({ children }) => [...children.allTests()]);
  const passed = tests.filter((test) => test.result().state === 'passed').length;
  const skipped = tests.filter((test) => test.result().state === 'skipped').length;
  const suites: readonly (TestModule | TestSuite)[] = modules.flatMap((module) => [module, ...module.children.allSuites()]);
  const broken = suites.filter((suite) => suite.errors().length > 0).length;
  const failed = tests.length - passed - skipped + broken + unhandled.length;
  return { passed, failed, skipped, times: timesOf(modules), ...failuresOf(modules, unhandled) };
}

function timesOf(modules: readonly TestModule[]): readonly FileTime[] {
  const times = modules.map((module) => {
    const { collectDuration, duration } = module.diagnostic();
    return { project: module.project.name, file: pathOf(module), seconds: Math.round((collectDuration + duration) / 100) / 10 };
  });
  return times.toSorted((a, b) => b.seconds - a.seconds);
}

function pathOf({ moduleId }: TestModule): string {
  return relative(process.cwd(), moduleId);
}

export function writeReport(path: string, report: RunReport): void {
  writeFileSync(path, JSON.stringify(report));
}

/** Undefined if the run ended before it wrote a report. */
export function readReport(path: string): RunReport | undefined {
  if (!existsSync(path)) return undefined;
  const report: unknown = JSON.parse(readFileSync(path, 'utf8'));
  return isReport(report) ? report : undefined;
}

/** Only `writeReport` writes such files. */
function isReport(value: unknown): value is RunReport {
  return typeof value === 'object' && value !== null && 'files' in value && 'stray' in value;
}

function failuresOf(modules: readonly TestModule[], unhandled: readonly unknown[]): Pick<RunReport, 'files' | 'stray'> {
  const leaked = unhandled.map((error) => ({ path: testPathOf(error), error: messageOf(error) }));
  const files = modules.flatMap((module) => {
    const own = leaked.filter(({ path }) => path === module.moduleId).map(({ error }) => ({ name: '', error }));
    const tests = [...failedTests(module), ...own];
    return tests.length === 0 ? [] : [{ project: module.project.name, file: pathOf(module), tests }];
  });
  const known = new Set(modules.map(({ moduleId }) => moduleId));
  return { files, stray: leaked.filter(({ path }) => path === undefined || !known.has(path)).map(({ error }) => error) };
}

/** The path of the test file that an uncaught error belongs to, if vitest knows it. */
function testPathOf(error: unknown): string | undefined {
  // When a test process dies, only the text of the cause names its file.
  const cause = error instanceof Error ? fieldOf(error.cause, 'message') : undefined;
  return fieldOf(error, 'VITEST_TEST_PATH') ?? /^Worker exited .* while running test file (.+)$/.exec(cause ?? '')?.[1];
}

function failedTests(module: TestModule): readonly FailedTest[] {
  const suites = [module, ...module.children.allSuites()].flatMap((suite) =>
    suite.errors().map((error) => ({ name: suite.type === 'suite' ? suite.fullName : '', error: messageOf(error) })),
  );
  const tests = [...module.children.allTests()].flatMap((test) => {
    const error = errorOf(test);
    return error === undefined ? [] : [{ name: test.fullName, error }];
  });
  return [...suites, ...tests];
}

/** Undefined if it passed or did not run. */
function errorOf(test: TestCase): string | undefined {
  const { state, errors = [] } = test.result();
  if (state === 'passed' || state === 'skipped') return undefined;
  return state === 'failed' ? errors.map(messageOf).join('\n') : 'it did not end';
}

function messageOf(error: unknown): string {
  return fieldOf(error, 'stack') ?? fieldOf(error, 'message') ?? String(error);
}

function fieldOf(value: unknown, name: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const found: unknown = Object.entries(Object.getOwnPropertyDescriptors(value)).find(([key]) => key === name)?.[1].value;
  return typeof found === 'string' ? found : undefined;
}
