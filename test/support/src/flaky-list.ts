/**
 * The tests that have failed once and then passed. Each is a bug, in the test or in what it tests.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';

import type { FailedFile } from './run-report.ts';

export interface FlakyTest {
  readonly file: string;
  readonly name: string;
  /** Its failures, oldest first. */
  readonly seen: readonly { readonly date: string; readonly error: string }[];
}

/** A test that was flaky this often no longer fails a run. */
const TIMES_UNTIL_IGNORED = 2;
/** The first lines of an error identify it. */
const ERROR_LINES = 4;

export function readFlakyList(path: string): readonly FlakyTest[] {
  if (!existsSync(path)) return [];
  const list: unknown = JSON.parse(readFileSync(path, 'utf8'));
  if (!Array.isArray(list) || !list.every(isFlakyTest)) throw new TypeError(`${path} is no list of { file, name, seen }`);
  return list;
}

export function writeFlakyList(path: string, list: readonly FlakyTest[]): void {
  writeFileSync(path, `${JSON.stringify(list, undefined, 2)}\n`);
}

export function decides(list: readonly FlakyTest[], file: string, name: string): boolean {
  const known = list.find((test) => test.file === file && test.name === name);
  return known === undefined || known.seen.length < TIMES_UNTIL_IGNORED;
}

/** Returns the list with the new failures added. */
export function addFailures(list: readonly FlakyTest[], { file, tests }: FailedFile, date: string): readonly FlakyTest[] {
  const added = tests.map(({ name, error }) => {
    const before = list.find((test) => test.file === file && test.name === name)?.seen ?? [];
    return { file, name, seen: [...before, { date, error: error.split('\n').slice(0, ERROR_LINES).join('\n') }] };
  });
  const others = list.filter((test) => !added.some(({ name }) => test.file === file && test.name === name));
  return [...others, ...added];
}

function isFlakyTest(value: unknown): value is FlakyTest {
  return typeof value === 'object' && value !== null && 'file' in value && 'name' in value && 'seen' in value && Array.isArray(value.seen);
}
