/** Checks docs/scenarios.md against the tests. */

import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterCases, outageCases, scenarioCases, type StoreCase } from '@incumbent/conformance';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const STORES = ['memory', 'sqlite', 'etcd', 'zookeeper', 'consul', 'kubernetes', 'redis', 'postgres'];
/**
 * What the suites that were read ask of an election on a store (D: by votes, without one; E, but
 * 16: of members that come and go).
 */
const ASKED = [
  ...ids('A', 1, 2, 4, 5, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 23, 24, 25, 27, 28, 29, 30, 31, 32, 33),
  ...ids('B', 1, 2, 3, 5, 7, 8, 9, 11, 12, 13, 14, 15, 16),
  ...ids('C', 1, 2, 4, 5, 6, 8, 9, 11, 12, 13, 14, 16, 17, 18, 19, 20),
  ...ids('E', 16),
  ...ids('D', 1, 2, 4, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 18, 19, 20, 21, 22, 23, 24, 26, 27, 28, 29, 31, 32, 33, 34, 36),
  ...ids('E', 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 15, 17, 19, 21, 22, 23),
  ...ids('F', 1, 2, 4, 5, 6, 7),
];

function ids(part: string, ...numbers: readonly number[]): readonly string[] {
  return numbers.map((number) => part + String(number).padStart(2, '0'));
}

/**
 * The reference of a row: a file and the title of a test in it. Without a title, a test whose title
 * begins with the row's id.
 */
interface Reference {
  readonly path: string;
  readonly title: string | undefined;
}

interface Row {
  readonly id: string;
  readonly result: string;
  readonly stores: string;
  readonly why: string;
  readonly references: readonly Reference[];
}

function rowsOf(page: string): readonly Row[] {
  return page.split('\n').flatMap((line) => {
    if (!/^\| [A-F]\d\d \|/.test(line)) return [];
    const [id = '', , , result = '', stores = '', why = ''] = line.slice(2, -2).split(' | ');
    const links = [...why.matchAll(/\[[^\]]+\]\(\.\.\/([^)]+)\)(?: "([^"]+)")?/g)];
    return [{ id, result, stores, why, references: links.map(([, path = '', title]) => ({ path, title })) }];
  });
}

/** The ids that a title begins with. */
function idsOf(title: string): readonly string[] {
  return /^(?:[A-F]\d\d )+/.exec(title)?.[0].trim().split(' ') ?? [];
}

const sources = new Map<string, string>();

/** The source with plain quotes, so that titles can be compared. */
function sourceOf(path: string): string {
  const known = sources.get(path) ?? readFileSync(join(root, path), 'utf8').replaceAll("\\'", "'");
  sources.set(path, known);
  return known;
}

/** Why the reference leads to no test. Undefined if it does. */
function fault(id: string, { path, title }: Reference): string | undefined {
  if (!existsSync(join(root, path))) return `${id}: there is no ${path}`;
  const source = sourceOf(path);
  if (title !== undefined) {
    const isThere = ["'", '"', '`', '}'].some((before) => ["'", '"', '`'].some((after) => source.includes(before + title + after)));
    return isThere ? undefined : `${id}: no "${title}" in ${path}`;
  }
  return new RegExp(`['"\`](?:[A-F]\\d\\d )*${id} `).test(source) ? undefined : `${id}: none of its own in ${path}`;
}

const rows = rowsOf(readFileSync(join(root, 'docs/scenarios.md'), 'utf8'));
const cases: readonly StoreCase[] = [...scenarioCases, ...outageCases, ...clusterCases];

it('lists every required scenario once, in order', () => {
  expect(rows.map(({ id }) => id)).toEqual(ASKED);
});

it('names at least one existing test for each scenario', () => {
  const faults = rows.flatMap(({ id, references }) => references.flatMap((one) => fault(id, one) ?? []));
  expect(faults).toEqual([]);
  const bare = rows.filter(({ references }) => references.length === 0);
  expect(bare.map(({ id }) => id)).toEqual([]);
});

it('states the result of each scenario, and a reason if it did not pass', () => {
  expect([...new Set(rows.map(({ result }) => result))].toSorted()).toEqual(['different by design', 'passed']);
  const other = rows.filter(({ result }) => result !== 'passed');
  expect(other.filter(({ why }) => why.replaceAll(/\[[^\]]+\]\([^)]+\)(?: "[^"]+")?/g, '').length < 8)).toEqual([]);
});

it('has a row for every test that is named after a scenario, and each row names the file of every such test', () => {
  const titledIn = (pattern: string): readonly { readonly id: string; readonly path: string }[] =>
    globSync(pattern, { cwd: root }).flatMap((path) =>
      [...sourceOf(path).matchAll(/['"`]((?:[A-F]\d\d )+)/g)].flatMap(([, found = '']) => idsOf(found).map((id) => ({ id, path }))),
    );
  const titled = titledIn('packages/conformance/src/scenarios/*.ts');
  const peers = titledIn('packages/peer/test/scenarios/*.ts');
  const stray = [...titled, ...peers].filter(
    ({ id, path }) => !rows.some((row) => row.id === id && row.references.some((one) => one.path === path)),
  );
  expect(stray).toEqual([]);
  const found = new Set(titled.map(({ id }) => id));
  expect(new Set(cases.flatMap(({ name }) => idsOf(name)))).toEqual(found);
  const asked = rows.filter(({ stores, result }) => stores === 'none' && result === 'passed').map(({ id }) => id);
  expect(new Set(peers.map(({ id }) => id))).toEqual(new Set(asked));
  const elsewhere = globSync('{packages,test,examples}/*/test/**/*.test.ts', { cwd: root })
    .filter((path) => !path.includes('node_modules') && !path.startsWith('packages/peer/test/scenarios/'))
    .filter((path) => /\bit(?:\.\w+)*\(\s*['"`][A-F]\d\d /.test(sourceOf(path)));
  expect(elsewhere).toEqual([]);
});

it('states the stores on which the tests of each scenario run', () => {
  const running = (needle: string): readonly string[] =>
    STORES.filter((store) =>
      globSync(`packages/${store}/test/*.conformance.test.ts`, { cwd: root }).some((path) =>
        new RegExp(`runCases\\([^;]*${needle}`).test(sourceOf(path)),
      ),
    );
  expect(running('scenarioCases')).toEqual(STORES);
  expect(running('outageCases')).toEqual(STORES);
  expect(running('clusterCases')).toEqual(['etcd', 'zookeeper', 'consul']);
  const onClusters = new Set(clusterCases.flatMap(({ name }) => idsOf(name)));
  const onAll = new Set([...scenarioCases, ...outageCases].flatMap(({ name }) => idsOf(name)));
  const expected = (id: string): string => (onAll.has(id) ? 'all eight' : 'etcd, ZooKeeper, Consul');
  const run = rows.filter(({ id }) => onAll.has(id) || onClusters.has(id));
  expect(run.map(({ id, stores }) => [id, stores])).toEqual(run.map(({ id }) => [id, expected(id)]));
});

it('every scenario has a unique name that states its source', () => {
  expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
  expect(cases.filter(({ name }) => idsOf(name).length === 0 || !/\(\S.*\)$/.test(name)).map(({ name }) => name)).toEqual([]);
});
