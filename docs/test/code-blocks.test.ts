import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { expect, test } from 'vitest';

import { filesOf, root, textOf } from '../../test/repo/workspace.ts';
import { codeBlocks } from './code-blocks.ts';

/**
 * How many blocks of a page show code of the reader, which is not here: the tests of a new store,
 * and a program to simulate. Each new one needs a reason.
 */
const UNCHECKED = { 'docs/adding-a-store.md': 2, 'packages/conformance/README.md': 2, 'packages/simulator/README.md': 1 };

const blocks = codeBlocks();
const examples = filesOf('examples/**/*.ts').map(textOf);
const isQuoted = (code: string): boolean => examples.some((text) => text.includes(code));

test('few blocks of TypeScript are unchecked', () => {
  expect(blocks.length).toBeGreaterThan(10);
  const unchecked = Object.groupBy(
    blocks.filter(({ isUnchecked }) => isUnchecked),
    ({ page }) => page,
  );
  expect(Object.fromEntries(Object.entries(unchecked).map(([page, found]) => [page, found?.length]))).toEqual(UNCHECKED);
});

test('every other block compiles, or is a part of an example, which is compiled and tested', async () => {
  const folder = join(root, 'docs/node_modules/.cache/code-blocks');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const compiled = blocks.filter(({ isUnchecked, code }) => !isUnchecked && !isQuoted(code));
  for (const { page, line, code } of compiled) writeFileSync(join(folder, `${page.replaceAll('/', '-')}-${line}.ts`), code);
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(OPTIONS));
  expect(compiled).not.toEqual([]);
  expect(await outputOf(join(root, 'node_modules/.bin/tsc'), ['-p', folder])).toBe('');
});

const OPTIONS = {
  extends: join(root, 'tsconfig.test.json'),
  // Blocks declare what the reader goes on to use.
  compilerOptions: {
    noUnusedLocals: false,
    // Those of NestJS applications.
    experimentalDecorators: true,
    erasableSyntaxOnly: false,
    typeRoots: [join(root, 'node_modules/@types')],
  },
  include: ['*.ts'],
  exclude: [],
};

/** What a program prints, whether it succeeds or not. */
async function outputOf(program: string, args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)(program, args)).stdout;
  } catch (error) {
    if (error instanceof Error && 'stdout' in error) return String(error.stdout);
    throw error;
  }
}
