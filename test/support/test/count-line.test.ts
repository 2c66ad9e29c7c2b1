import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

const root = process.cwd();

let folder: string;

// Inside the workspace, so that the planted files find vitest and the reporter.
beforeAll(() => {
  mkdirSync(join(root, 'node_modules/.cache'), { recursive: true });
  folder = mkdtempSync(join(root, 'node_modules/.cache/count-line-'));
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Runs vitest on planted files, and returns its exit code and the last line that it wrote. */
function runPlanted(
  name: string,
  files: Readonly<Record<string, string>>,
  options = '',
): { code: number | null; line: string | undefined; lines: readonly string[] } {
  const home = join(folder, name);
  mkdirSync(home);
  for (const [path, text] of Object.entries(files))
    writeFileSync(join(home, path), `import { test, describe, beforeAll } from 'vitest';\n${text}`);
  const config = `import { CountReporter } from '@incumbent/test-support/reporter';
    export default { test: { include: ['*.test.ts'], reporters: ['default', new CountReporter()], ${options} } };`;
  writeFileSync(join(home, 'vitest.config.ts'), config);
  const { status, stdout } = spawnSync(join(root, 'node_modules/.bin/vitest'), ['run'], { cwd: home, encoding: 'utf8', timeout: 240_000 });
  const lines = stdout.trimEnd().split('\n');
  return { code: status, line: lines.at(-1), lines };
}

test('a run that passes ends with its counts', () => {
  const files = { 'a.test.ts': "test('1', () => {}); test('2', () => {}); test.skip('3', () => {});" };
  expect(runPlanted('passing', files)).toMatchObject({ code: 0, line: '2 passed, 0 failed, 1 skipped' });
});

test('whatever kept a test from passing is counted as a failure', () => {
  const files = {
    'test.test.ts': "test('1', () => {}); test('2', () => { throw new Error('planted'); });",
    'load.test.ts': "throw new Error('planted');",
    'hook.test.ts': "describe('d', () => { beforeAll(() => { throw new Error('planted'); }); test('3', () => {}); });",
    'unhandled.test.ts': "test('4', () => { void Promise.reject(new Error('planted')); });",
  };
  const { code, line, lines } = runPlanted('failing', files);
  expect({ code, line }).toEqual({ code: 1, line: '2 passed, 4 failed, 1 skipped' });
  const failures = lines.slice(lines.findIndex((text) => text.startsWith('FAILED ')));
  expect(failures.filter((text) => text.startsWith('FAILED ')).toSorted()).toEqual([
    'FAILED hook.test.ts > d',
    'FAILED load.test.ts',
    'FAILED test.test.ts > 2',
    'FAILED unhandled.test.ts',
  ]);
  expect(failures.filter((text) => text === '    Error: planted')).toHaveLength(4);
});

test('the end of a long output is complete, also if its reader is slow', { timeout: 300_000 }, () => {
  const home = join(folder, 'long');
  mkdirSync(home);
  // More than a pipe holds.
  const body = `import { test } from 'vitest';
    for (let i = 0; i < 200; i += 1) test('x'.repeat(1_000) + i, () => { throw new Error('planted'); });`;
  writeFileSync(join(home, 'a.test.ts'), body);
  const config = `import { writeFileSync } from 'node:fs';
    import { CountReporter } from '@incumbent/test-support/reporter';
    process.once('exit', () => writeFileSync('ending', ''));
    export default { test: { include: ['*.test.ts'], reporters: [new CountReporter()] } };`;
  writeFileSync(join(home, 'vitest.config.ts'), config);
  const slowly = '"$0" run | { until [ -e ending ]; do sleep 0.1; done; sleep 1; cat; }';
  const { stdout } = spawnSync('sh', ['-c', slowly, join(root, 'node_modules/.bin/vitest')], { cwd: home, encoding: 'utf8' });
  const lines = stdout.trimEnd().split('\n');
  expect(lines.filter((line) => line.startsWith('FAILED '))).toHaveLength(200);
  expect(lines.at(-1)).toBe('0 passed, 200 failed');
});

test('a run that never began is a failure', () => {
  const files = { 'a.test.ts': "test('1', () => {});", 'setup.ts': "export function setup(): void { throw new Error('planted'); }" };
  expect(runPlanted('setup', files, "globalSetup: ['setup.ts']")).toMatchObject({ code: 1, line: '0 passed, 1 failed' });
});

test('a run without any test is a failure', () => {
  expect(runPlanted('empty', {})).toMatchObject({ code: 1, line: '0 passed, 1 failed' });
});

test('a run of many files shows the ten slowest before its counts', () => {
  const quick = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`${i}.test.ts`, "test('1', () => {});"]));
  const slow = "test('2', async () => { await new Promise((resolve) => setTimeout(resolve, 1_500)); });";
  const { lines } = runPlanted('slow', { ...quick, 'slow.test.ts': slow });
  const end = lines.slice(-12);
  expect(end[0]).toBe('Slowest files:');
  expect(end[1]).toMatch(/^ {2}\d+\.\d s {2}slow\.test\.ts/);
  expect(end.at(-1)).toBe('11 passed, 0 failed');
});
