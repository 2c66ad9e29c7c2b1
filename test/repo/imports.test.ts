import { dirname, join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { packageOf, specifiersOf } from './specifiers.ts';
import { filesOf, manifestOf, textOf } from './workspace.ts';

interface Import {
  readonly path: string;
  readonly specifier: string;
}

const folders = filesOf('{packages,examples,test}/*/package.json').map(dirname);
const packages = folders.filter((folder) => folder.startsWith('packages/'));

/**
 * Only these packages may import several of our packages. Every other package may import only
 * `shared` ones.
 */
const composing = new Set(['packages/cli', 'packages/fastify', 'packages/incumbent', 'packages/nestjs']);

/** What other packages build on: the contract, and the code that the network adapters share. */
const shared = new Set(['@incumbent/core', '@incumbent/network']);

function importsOf(pattern: string): readonly Import[] {
  return filesOf(pattern).flatMap((path) => specifiersOf(textOf(path)).map((specifier) => ({ path, specifier })));
}

function isRelative({ specifier }: Import): boolean {
  return specifier.startsWith('.');
}

function ours(dependencies: Readonly<Record<string, string>> = {}): readonly string[] {
  return Object.keys(dependencies).filter((name) => name === 'incumbent' || name.startsWith('@incumbent/'));
}

test('the specifiers of a module are found in every form, and those in comments are not', () => {
  const source = `
    import a from 'a'; import type { B } from "b"; export * from '@c/c/deep'; import 'd';
    const e = await import('e'); const f = require('f'); type G = import('g').G;
    /** import h from 'h' */
    // import i from 'i'
  `;
  expect(specifiersOf(source)).toEqual(['a', 'b', '@c/c/deep', 'd', 'e', 'f', 'g']);
  expect(packageOf('@c/c/deep')).toBe('@c/c');
});

describe.each(packages)('%s', (folder) => {
  const { dependencies = {}, optionalDependencies, peerDependencies = {} } = manifestOf(folder);

  test('imports only itself, Node and what its manifest names', () => {
    const known = new Set([...Object.keys(dependencies), ...Object.keys(peerDependencies)]);
    const bare = importsOf(`${folder}/src/**/*.ts`).filter((entry) => !isRelative(entry) && !entry.specifier.startsWith('node:'));
    expect(bare.filter(({ specifier }) => !known.has(packageOf(specifier)))).toEqual([]);
  });

  if (composing.has(folder)) return;
  test('depends inwards: of our packages, on those that are there for it', () => {
    const known = [...ours(dependencies), ...ours(peerDependencies), ...ours(optionalDependencies)];
    expect(known.filter((name) => !shared.has(name))).toEqual([]);
  });
});

test('core depends on nothing', () => {
  const { dependencies, optionalDependencies, peerDependencies } = manifestOf('packages/core');
  expect({ dependencies, optionalDependencies, peerDependencies }).toEqual({});
  const outside = importsOf('packages/core/src/**/*.ts').filter((entry) => !isRelative(entry));
  const allowed = { path: 'packages/core/src/base/telemetry.ts', specifier: 'node:diagnostics_channel' };
  expect(outside.filter((entry) => entry.path !== allowed.path || entry.specifier !== allowed.specifier)).toEqual([]);
});

test('network depends on core', () => {
  const { dependencies = {}, optionalDependencies, peerDependencies } = manifestOf('packages/network');
  expect({ names: Object.keys(dependencies), optionalDependencies, peerDependencies }).toEqual({ names: ['@incumbent/core'] });
});

test("nobody reaches into another package's sources by path", () => {
  const everywhere = [...importsOf('*.ts'), ...importsOf('{packages,examples,test,bench}/**/*.ts')];
  const strayed = everywhere.filter(isRelative).filter(({ path, specifier }) => {
    const home = folders.find((folder) => path.startsWith(`${folder}/`));
    const target = folders.find((folder) => join(dirname(path), specifier).startsWith(`${folder}/src/`));
    return target !== undefined && target !== home;
  });
  expect(everywhere.length).toBeGreaterThan(100);
  expect(strayed).toEqual([]);
});
