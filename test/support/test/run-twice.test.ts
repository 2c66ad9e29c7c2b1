import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { FRESH_START, runTwice, type RanTwice } from '../src/run-twice.ts';
import type { FlakyTest } from '../src/flaky-list.ts';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';

const root = process.cwd();

const DATE = '2026-01-31';
const PASSES_LATER = `
  import { existsSync, writeFileSync } from 'node:fs';
  test('passes the second time', () => {
    const isSecond = existsSync(import.meta.filename + '.ran');
    writeFileSync(import.meta.filename + '.ran', '');
    if (!isSecond) throw new Error('planted');
  });`;
const REQUIRES_SAME_SEED = `
  import { existsSync, readFileSync, writeFileSync } from 'node:fs';
  test('has the seed of the first run', () => {
    const seed = process.env.${FRESH_START};
    const first = import.meta.filename + '.seed';
    const isSecond = existsSync(first);
    if (!isSecond) writeFileSync(first, String(seed));
    if (!isSecond || !/^\\d+$/.test(seed) || seed !== readFileSync(first, 'utf8')) throw new Error('planted');
  });`;
const DIES_AT_FIRST = `
  import { existsSync, writeFileSync } from 'node:fs';
  test('kills its process the first time', () => {
    const isSecond = existsSync(import.meta.filename + '.ran');
    writeFileSync(import.meta.filename + '.ran', '');
    if (!isSecond) process.kill(process.pid, 'SIGKILL');
  });`;
const FAILS = "test('fails', () => { throw new Error('planted'); });";
const LEAKS = "test('leaks', () => { void Promise.reject(new Error('planted')); });";
const PASSES = "test('passes', () => {}); test.skip('is skipped', () => {});";

let folder: string;

beforeAll(() => {
  mkdirSync(join(root, 'node_modules/.cache'), { recursive: true });
  folder = mkdtempSync(join(root, 'node_modules/.cache/run-twice-'));
});

afterEach(() => void vi.unstubAllEnvs());
afterAll(() => rmSync(folder, { recursive: true }));

interface Planted extends RanTwice {
  readonly said: string;
}

/** Runs planted test files twice, where they fail. */
async function plant(name: string, files: Readonly<Record<string, string>>, flaky: readonly FlakyTest[] = []): Promise<Planted> {
  const cwd = join(folder, name);
  mkdirSync(cwd);
  for (const [path, text] of Object.entries(files)) writeFileSync(join(cwd, path), `import { test, beforeAll } from 'vitest';\n${text}`);
  const config = `import { CountReporter } from '@incumbent/test-support/reporter';
    export default { test: { include: ['*.test.ts'], reporters: [new CountReporter()] } };`;
  writeFileSync(join(cwd, 'vitest.config.ts'), config);
  const said: string[] = [];
  const ran = await runTwice({ args: [], flaky, date: DATE, cwd, say: (line) => said.push(line) });
  return { ...ran, said: said.join('\n') };
}

function flakyTest(file: string, name: string, times: number): FlakyTest {
  return { file, name, seen: Array.from({ length: times }, () => ({ date: DATE, error: 'planted' })) };
}

test('a file that fails once is flaky, and its run is green', async () => {
  const ran = await plant('once', { 'a.test.ts': PASSES_LATER, 'b.test.ts': PASSES });
  const { counts, flaky, said } = ran;
  expect(counts).toEqual({ passed: 2, failed: 0, skipped: 1 });
  expect(flaky).toMatchObject([{ file: 'a.test.ts', name: 'passes the second time', seen: [{ date: DATE }] }]);
  expect(flaky[0]?.seen[0]?.error).toContain('planted');
  expect(said).toContain('FLAKY: a.test.ts > passes the second time');
  expect(ran.summary).toEqual(['FLAKY: a.test.ts > passes the second time: Error: planted']);
});

test('a test that fails twice is red', async () => {
  const { counts, flaky, said } = await plant('twice', { 'a.test.ts': FAILS, 'b.test.ts': PASSES });
  expect(counts).toEqual({ passed: 1, failed: 1, skipped: 1 });
  expect(flaky).toEqual([]);
  expect(said).toContain('FAILED TWICE: a.test.ts > fails');
});

test('both runs of a file get the same first seed for fresh worlds', async () => {
  vi.stubEnv(FRESH_START, undefined);
  const { counts } = await plant('seed', { 'a.test.ts': REQUIRES_SAME_SEED });
  expect(counts).toEqual({ passed: 1, failed: 0, skipped: 0 });
});

test('a rejection that nobody handles fails its file, and what kept a file from loading fails it likewise', async () => {
  const { counts, said } = await plant('around', { 'a.test.ts': LEAKS, 'b.test.ts': "throw new Error('planted');" });
  expect(counts).toEqual({ passed: 1, failed: 2, skipped: 0 });
  expect(said).toContain('FAILED TWICE: a.test.ts > ');
  expect(said).toContain('FAILED TWICE: b.test.ts > ');
});

test('the death of the process of a file fails that file, which runs again', async () => {
  const { counts, said } = await plant('death', { 'a.test.ts': DIES_AT_FIRST, 'b.test.ts': PASSES });
  expect(counts).toMatchObject({ failed: 0, skipped: 1 });
  expect(said).toContain('FLAKY: a.test.ts > kills its process the first time');
  expect(said).not.toContain('belongs to no test file');
});

test('a test that is on the list twice is told of and decides nothing', async () => {
  const { counts, said } = await plant('known', { 'a.test.ts': FAILS, 'b.test.ts': PASSES }, [flakyTest('a.test.ts', 'fails', 2)]);
  expect(counts).toEqual({ passed: 1, failed: 0, skipped: 2 });
  expect(said).toContain('FAILED TWICE, and is ignored');
});

// Eleven files run once more each, in a process of its own.
test(
  'where too many files fail, none runs again; those whose tests all are on the list twice are not among them',
  { timeout: 300_000 },
  async () => {
    const names = Array.from({ length: 10 }, (_, i) => `${i}.test.ts`);
    const failing = Object.fromEntries(names.map((name) => [name, FAILS]));
    const known = [flakyTest('known.test.ts', 'fails', 2)];
    const few = await plant('few', { ...failing, 'known.test.ts': FAILS }, known);
    expect(few.counts).toEqual({ passed: 0, failed: 10, skipped: 1 });
    expect(few.said).toContain('FAILED TWICE: 9.test.ts > fails');
    const many = await plant('many', { ...failing, 'more.test.ts': FAILS, 'known.test.ts': FAILS }, known);
    expect(many.counts).toEqual({ passed: 0, failed: 11, skipped: 1 });
    expect(many.said).toContain('11 files failed');
    expect(many.said).toContain('FAILED, and is ignored, as it is on the list of flaky tests: known.test.ts > fails');
  },
);

test('a test that is on the list once decides, and is added again where it passes then', async () => {
  const known = [flakyTest('a.test.ts', 'fails', 1), flakyTest('b.test.ts', 'passes the second time', 1)];
  const { counts, flaky } = await plant('again', { 'a.test.ts': FAILS, 'b.test.ts': PASSES_LATER }, known);
  expect(counts).toEqual({ passed: 1, failed: 1, skipped: 0 });
  expect(flaky).toMatchObject([
    { file: 'a.test.ts', seen: [{}] },
    { file: 'b.test.ts', seen: [{}, {}] },
  ]);
});

test('a run that never began is red', async () => {
  const { counts } = await plant('empty', {});
  expect(counts).toEqual({ passed: 0, failed: 1, skipped: 0 });
});
