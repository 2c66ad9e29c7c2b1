import { expect, test } from 'vitest';

import { filesOf, manifestOf } from '../../test/repo/workspace.ts';
import { docOf, exportsOf, silentThrowers, vagueNumbers, type Exported } from './exported-symbols.ts';

const exported = filesOf('packages/*/package.json')
  .map((path) => path.slice(0, -'/package.json'.length))
  .filter((folder) => manifestOf(folder).private !== true)
  .flatMap((folder) => entryPointsOf(folder).flatMap(exportsOf));

/**
 * What all published packages export. A symbol that two entry points export is listed once, and a
 * function by its first overload.
 */
const symbols: readonly Exported[] = [...Map.groupBy(exported, idOf).values()].flatMap(([first]) => first ?? []);

function idOf({ name, path }: Exported): string {
  return `${path} ${name}`;
}

/** The sources of the package's entry points. */
function entryPointsOf(folder: string): readonly string[] {
  return Object.values(manifestOf(folder).exports ?? {}).flatMap((target) =>
    typeof target === 'string' ? [] : [`${folder}/${target['@incumbent/source']?.slice(2)}`],
  );
}

test('every exported symbol has a doc comment', () => {
  expect(symbols.length).toBeGreaterThan(500);
  expect(symbols.filter(({ node }) => docOf(node) === '').map(idOf)).toEqual([]);
});

test('an exported function or method that throws an error with a code documents it with @throws', () => {
  expect(symbols.flatMap((symbol) => silentThrowers(symbol).map((name) => `${idOf(symbol)} ${name}`))).toEqual([]);
});

test('an exported option that is a duration or a size documents its unit and its default', () => {
  expect(symbols.flatMap((symbol) => vagueNumbers(symbol).map((what) => `${idOf(symbol)}: ${what}`))).toEqual([]);
});
