import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';

/** The folder of the whole workspace. */
export const root: string = join(import.meta.dirname, '../..');

const skipped = new Set(['.git', 'coverage', 'dist', 'node_modules']);

/**
 * Paths relative to the workspace, sorted, of the files that match; never those that are installed
 * or built.
 */
export function filesOf(pattern: string): readonly string[] {
  const found = globSync(pattern, { cwd: root, withFileTypes: true, exclude: (entry) => skipped.has(entry.name) });
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + sep.length))
    .toSorted();
}

export function textOf(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

export interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  /** A path, or paths by condition, for each entry point. */
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** The manifest of the package in a folder of the workspace. */
export function manifestOf(folder: string): Manifest {
  const manifest: Manifest = JSON.parse(textOf(`${folder}/package.json`));
  return manifest;
}
