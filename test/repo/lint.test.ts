import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { root } from './workspace.ts';

interface Report {
  readonly diagnostics: readonly { readonly code: string; readonly filename: string; readonly labels: readonly unknown[] }[];
}

/** Statements that core must not contain, each with the rule that must report it. */
const planted: readonly (readonly [rule: string, statement: string])[] = [
  ...[
    'Date.now()',
    'new Date()',
    'performance.now()',
    'setTimeout(f, 1)',
    'setInterval(f, 1)',
    'setImmediate(f)',
    'process.hrtime()',
    'crypto.randomUUID()',
    'globalThis.setTimeout(f, 1)',
    'fetch("http://127.0.0.1")',
    'new WeakRef({})',
    'new FinalizationRegistry(f)',
  ].map((expression) => ['no-restricted-globals', `export const x: unknown = ${expression};`] as const),
  ...['Math.random()', 'AbortSignal.timeout(1)', '"a".localeCompare("b")'].map(
    (expression) => ['no-restricted-properties', `export const x: unknown = ${expression};`] as const,
  ),
  ...['node:fs', 'fs', 'node:timers/promises', 'node:diagnostics_channel', '@incumbent/memory', 'fast-check'].map(
    (name) => ['no-restricted-imports', `import * as x from '${name}'; export { x };`] as const,
  ),
  ['no-restricted-imports', "export const x = (): Promise<unknown> => import('node:fs');"],
  ['no-floating-promises', 'export function x(): void { Promise.resolve(1); }'],
  ['no-misused-promises', 'export const x: unknown[] = [1].filter(async () => true);'],
  ['switch-exhaustiveness-check', 'export function x(y: 1 | 2): void { switch (y) { case 1: f(); } }'],
  ['await-thenable', 'export async function x(): Promise<void> { await 1; }'],
  ['no-explicit-any', 'export type X = any;'],
  ['consistent-type-assertions', 'export const x = (y: unknown): string => y as string;'],
  ['no-default-export', 'export default 1;'],
  ['no-top-level-await', 'await Promise.resolve();'],
];

/** Statements that are allowed in one file. */
const allowed: readonly (readonly [file: string, statement: string])[] = [
  ['base/clock', 'export const x: unknown = [Date.now(), performance.now(), setTimeout(() => {}, 1)];'],
  ['base/random', 'export const x: unknown = crypto.randomUUID();'],
  ['base/telemetry', "import * as x from 'node:diagnostics_channel'; export { x };"],
  ['microtask', 'export const x: unknown = queueMicrotask;'],
  ['constant', 'export const x: unknown = [1, 2] as const;'],
];

let folder: string;
let caught: ReadonlyMap<string, readonly string[]>;

// One run over all files, because each run takes a second.
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'incumbent-lint-'));
  for (const name of ['.oxlintrc.json', 'tsconfig.base.json']) copyFileSync(join(root, name), join(folder, name));
  copyFileSync(join(root, 'packages/core/tsconfig.json'), write('packages/core/tsconfig.json', ''));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  planted.forEach(([, statement], index) =>
    write(`packages/core/src/planted${index}.ts`, `declare function f(): void;\n${statement}\nf();\n`),
  );
  allowed.forEach(([name, statement]) => write(`packages/core/src/${name}.ts`, `${statement}\n`));
  caught = lint();
});

afterAll(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** The rules that each file breaks. */
function lint(): ReadonlyMap<string, readonly string[]> {
  // Names the folder, because the linter would otherwise follow the link to node_modules.
  const { stdout } = spawnSync(join(root, 'node_modules/.bin/oxlint'), ['--format', 'json', 'packages'], { cwd: folder, encoding: 'utf8' });
  const report: Report = JSON.parse(stdout);
  const entries = Map.groupBy(report.diagnostics, ({ filename }) => filename);
  return new Map([...entries].map(([name, found]) => [name, found.map(({ code }) => code.replace(/^.*\((.*)\)$/, '$1'))]));
}

test.each(planted.map(([rule, statement], index) => ({ rule, statement, index })))('$rule catches: $statement', ({ rule, index }) => {
  expect(caught.get(`packages/core/src/planted${index}.ts`)).toContain(rule);
});

test.each(allowed)('%s.ts may say: %s', (name) => {
  expect(caught.get(`packages/core/src/${name}.ts`) ?? []).toEqual([]);
});
