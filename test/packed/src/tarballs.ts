import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { run } from './command.ts';

export interface Tarball {
  /** The package's name, as users import it. */
  readonly name: string;
  readonly path: string;
  /** The version ranges of the packages that it needs, by their names. */
  readonly dependencies: Readonly<Record<string, string>>;
}

interface Manifest {
  readonly private?: boolean;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
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
  return parsed<Manifest>(readFileSync(manifest, 'utf8')).private !== true;
}

function pack(folder: string, destination: string): Tarball {
  const report = run('pnpm', ['pack', '--json', '--pack-destination', destination], { cwd: folder });
  const { name, filename } = parsed<{ name: string; filename: string }>(report);
  const manifest = manifestIn(filename);
  const local = localRanges(manifest);
  if (local.length > 0) throw new Error(`${name}: nobody else can install ${local.join(', ')}`);
  return { name, path: filename, dependencies: manifest.dependencies ?? {} };
}

function manifestIn(tarball: string): Manifest {
  return parsed(run('tar', ['-xzOf', tarball, 'package/package.json'], { cwd: dirname(tarball) }));
}

/** The ranges that mean something only in this workspace: `name@workspace:^`. */
function localRanges({ dependencies, devDependencies, peerDependencies }: Manifest): readonly string[] {
  return [dependencies, devDependencies, peerDependencies]
    .flatMap((ranges) => Object.entries(ranges ?? {}))
    .filter(([, range]) => /^(?:workspace|catalog|link|file):/.test(range))
    .map(([name, range]) => `${name}@${range}`);
}

/**
 * Throws unless npm, given a package's folder, would pack ranges of this workspace. While it does,
 * only pnpm may publish (CONTRIBUTING.md, "Releases").
 */
export function checkThatNpmCannotPublish(root: string, destination: string): void {
  const report = run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', destination], {
    cwd: join(root, 'packages/incumbent'),
  });
  const [packed] = parsed<{ filename: string }[]>(report);
  const local = localRanges(manifestIn(join(destination, packed?.filename ?? '')));
  if (local.length === 0) throw new Error('npm pack replaces workspace: ranges now: CONTRIBUTING.md says that it does not');
  console.log(`npm pack would publish ${local[0]}: pnpm publishes`);
}

/** The packages of these names, and all of ours that they need. */
export function withDependencies(tarballs: readonly Tarball[], names: readonly string[]): readonly Tarball[] {
  const needed = new Set(names);
  // A set visits what is added while it is visited.
  for (const name of needed) {
    const { dependencies = {} } = tarballs.find((tarball) => tarball.name === name) ?? {};
    for (const dependency of Object.keys(dependencies)) if (tarballs.some((each) => each.name === dependency)) needed.add(dependency);
  }
  return tarballs.filter(({ name }) => needed.has(name));
}

function parsed<T>(json: string): T {
  const value: T = JSON.parse(json);
  return value;
}
