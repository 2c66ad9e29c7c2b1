/** The imports between the files of one package, and checks of them. */

import { dirname, join } from 'node:path';

import { specifiersOf } from './specifiers.ts';

/** Each file's path, with the paths that it imports. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** The graph of these sources, by path. Imports of other packages are left out. */
export function importGraph(sources: ReadonlyMap<string, string>): ImportGraph {
  return new Map(
    [...sources].map(([path, text]) => {
      const targets = specifiersOf(text).flatMap((name) => (name.startsWith('.') ? [join(dirname(path), name)] : []));
      return [path, targets.filter((target) => sources.has(target))];
    }),
  );
}

/**
 * One import cycle of each group of files that import each other, as `a -> b -> a`. Imports of
 * types count.
 */
export function cyclesIn(graph: ImportGraph): readonly string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, above: readonly string[]): void => {
    const start = above.indexOf(path);
    if (start >= 0) found.push([...above.slice(start), path].join(' -> '));
    if (start >= 0 || done.has(path)) return;
    for (const target of graph.get(path) ?? []) visit(target, [...above, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return found;
}

/**
 * The imports of `root` that go against the order of its folders, as `a -> b`. A folder may import
 * from itself and from folders listed before it. Folders listed together do not import each other.
 * A file in `root` may import from any folder, and no folder imports one.
 */
export function importsAgainst(order: readonly (readonly string[])[], root: string, graph: ImportGraph): readonly string[] {
  const folderOf = (path: string): string =>
    path
      .slice(root.length + 1)
      .split('/')
      .slice(0, -1)[0] ?? '';
  const levelOf = (path: string): number => {
    const folder = folderOf(path);
    if (folder === '') return order.length;
    const level = order.findIndex((folders) => folders.includes(folder));
    if (level < 0) throw new Error(`the folder of ${path} has no place in the order`);
    return level;
  };
  return [...graph].flatMap(([path, targets]) => {
    const isAllowed = (target: string): boolean => folderOf(target) === folderOf(path) || levelOf(target) < levelOf(path);
    return targets.filter((target) => !isAllowed(target)).map((target) => `${path} -> ${target}`);
  });
}
