import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { run } from './command.ts';

export interface Tarball {
  /** The package's name, as users import it. */
  readonly name: string;
  readonly path: string;
}

/** Packs every package of the workspace that is meant to be published, from its last build. */
export function packAll(root: string, destination: string): readonly Tarball[] {
  const tarballs = globSync('packages/*/package.json', { cwd: root })
    .toSorted()
    .map((manifest) => join(root, manifest))
    .filter(isPublic)
    .map((manifest) => pack(dirname(manifest), destination));
  if (tarballs.length === 0) throw new Error('no package to publish');
  return tarballs;
}

function isPublic(manifest: string): boolean {
  return parsed<{ private?: boolean }>(readFileSync(manifest, 'utf8')).private !== true;
}

function pack(folder: string, destination: string): Tarball {
  const report = run('pnpm', ['pack', '--json', '--pack-destination', destination], { cwd: folder });
  const { name, filename } = parsed<{ name: string; filename: string }>(report);
  return { name, path: filename };
}

function parsed<T>(json: string): T {
  const value: T = JSON.parse(json);
  return value;
}
