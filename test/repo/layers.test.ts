import { describe, expect, test } from 'vitest';

import { cyclesIn, importGraph, importsAgainst } from './import-graph.ts';
import { filesOf, textOf } from './workspace.ts';

/** The folders of core, from the lowest. Those on one line do not import each other. */
const ORDER = [
  ['base'],
  ['async'],
  ['store'],
  ['protocol'],
  ['lease'],
  ['campaign', 'leadership'],
  ['observer'],
  ['member'],
  ['testing'],
] as const;

const CORE = 'packages/core/src';
const MOST_ENTRIES = 13;
const MOST_FILES = 9;

function sourcesOf(folder: string): ReadonlyMap<string, string> {
  return new Map(filesOf(`${folder}/**/*.ts`).map((path) => [path, textOf(path)]));
}

const core = sourcesOf(CORE);
const roots = new Set(filesOf('packages/*/package.json').map((path) => path.replace('package.json', 'src')));

test.each([...roots])('%s has no import cycle', (root) => {
  expect(cyclesIn(importGraph(sourcesOf(root)))).toEqual([]);
});

describe('the folders of core', () => {
  test('import only from those below them', () => {
    expect(importsAgainst(ORDER, CORE, importGraph(core))).toEqual([]);
  });

  test('are few, and hold few files', () => {
    const paths = [...core.keys()].map((path) => path.slice(CORE.length + 1).split('/'));
    const entries = Map.groupBy(paths, ([first]) => first);
    expect(entries.size).toBeLessThanOrEqual(MOST_ENTRIES);
    for (const [folder, files] of entries) expect(files.length, folder).toBeLessThanOrEqual(MOST_FILES);
  });
});

describe('a planted violation is found:', () => {
  function planted(path: string, target: string): ReturnType<typeof importGraph> {
    return importGraph(
      new Map([...core, [`${CORE}/${path}`, `${core.get(`${CORE}/${path}`) ?? ''}\nimport type { X } from '${target}';\n`]]),
    );
  }

  test.each([
    ['an import of a higher folder', 'protocol/keys.ts', '../lease/session.ts', 'lease/session.ts'],
    ['an import between campaign and leadership', 'campaign/state.ts', '../leadership/fence.ts', 'leadership/fence.ts'],
    ['an import between leadership and campaign', 'leadership/fence.ts', '../campaign/state.ts', 'campaign/state.ts'],
    ['an import of an entry point', 'base/clock.ts', '../index.ts', 'index.ts'],
  ])('%s', (_, path, specifier, target) => {
    expect(importsAgainst(ORDER, CORE, planted(path, specifier))).toEqual([`${CORE}/${path} -> ${CORE}/${target}`]);
  });

  test('a folder that is not in the order', () => {
    expect(() => importsAgainst(ORDER, CORE, planted('utils/new.ts', '../base/clock.ts'))).toThrow('no place in the order');
  });

  test('a cycle of two files', () => {
    expect(cyclesIn(planted('base/errors.ts', './validate.ts'))).toEqual([]);
    expect(cyclesIn(planted('base/redact.ts', './validate.ts'))).toEqual([
      `${CORE}/base/validate.ts -> ${CORE}/base/redact.ts -> ${CORE}/base/validate.ts`,
    ]);
  });

  test('a cycle of three files', () => {
    const files = { a: './b.ts', b: './c.ts', c: './a.ts' };
    const sources = new Map(Object.entries(files).map(([name, target]) => [`src/${name}.ts`, `export * from '${target}';`]));
    expect(cyclesIn(importGraph(sources))).toEqual(['src/a.ts -> src/b.ts -> src/c.ts -> src/a.ts']);
  });
});
