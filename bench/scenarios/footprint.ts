/** The cost of the library itself: on the disk, and at the start of a process. */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Scenario, Section, Target } from '../harness/run.ts';
import { number, shown, spreadOf, type Spread } from '../harness/spread.ts';

const HERE = fileURLToPath(new URL('..', import.meta.url));
const INCUMBENT = join(HERE, '..', 'packages', 'incumbent');

interface Library {
  readonly name: string;
  readonly imports: readonly string[];
  /** The folder from which they are resolved. */
  readonly from: string;
  readonly targetMs?: number;
}

const LIBRARIES: readonly Library[] = [
  { name: '@incumbent/core', imports: ['@incumbent/core'], from: INCUMBENT, targetMs: 15 },
  { name: '@incumbent/core and @incumbent/etcd', imports: ['@incumbent/core', '@incumbent/etcd'], from: INCUMBENT, targetMs: 120 },
  ...['zookeeper', 'consul', 'redis', 'kubernetes', 'sqlite'].map((store) => ({
    name: `@incumbent/core and @incumbent/${store}`,
    imports: ['@incumbent/core', `@incumbent/${store}`],
    from: INCUMBENT,
  })),
  {
    name: '@incumbent/core and @incumbent/postgres',
    imports: ['@incumbent/core', '@incumbent/postgres'],
    from: INCUMBENT,
    targetMs: 120,
  },
  { name: 'etcd3', imports: ['etcd3'], from: HERE },
  { name: 'pg', imports: ['pg'], from: HERE },
  { name: 'graphile-worker', imports: ['graphile-worker'], from: HERE },
  { name: 'redlock and ioredis', imports: ['redlock', 'ioredis'], from: HERE },
  { name: 'redis-semaphore and ioredis', imports: ['redis-semaphore', 'ioredis'], from: HERE },
];

/** Measured in a process of its own, on the packages as they would be published. */
function importMs({ imports, from }: Library): number {
  const lines = imports.map((name) => `await import(${JSON.stringify(name)});`).join(' ');
  const script = `const from = process.hrtime.bigint(); ${lines} console.log(Number(process.hrtime.bigint() - from) / 1e6);`;
  const { NODE_OPTIONS: _, ...env } = process.env;
  return Number(
    execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script], {
      cwd: from,
      env,
      encoding: 'utf8',
    }),
  );
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
}

function isManifest(value: unknown): value is Manifest {
  return typeof value === 'object' && value !== null;
}

/** The folders of packages with all their dependencies. */
function closure(names: readonly string[], from: string, seen = new Map<string, string>()): ReadonlyMap<string, string> {
  for (const name of names) {
    const folder = folderOf(name, from);
    if (folder === undefined || seen.has(folder)) continue;
    seen.set(folder, name);
    const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    if (isManifest(manifest)) closure(Object.keys(manifest.dependencies ?? {}), folder, seen);
  }
  return seen;
}

/** Resolved as Node does it. */
function folderOf(name: string, from: string): string | undefined {
  const paths = createRequire(join(from, 'x.js')).resolve.paths(name) ?? [];
  for (const path of paths) {
    try {
      return realpathSync(join(path, name));
    } catch {
      // Continue in the parent folder.
    }
  }
  return undefined;
}

/** For this project's packages: the size of what would be published. */
function bytesOf(folder: string): number {
  const isOurs = !folder.includes('node_modules');
  const parts = isOurs ? ['dist', 'src', 'package.json', 'README.md'] : readdirSync(folder).filter((name) => name !== 'node_modules');
  return parts.reduce((sum, name) => sum + sizeOf(join(folder, name)), 0);
}

function sizeOf(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return 0;
  if (!stat.isDirectory()) return path.endsWith('.tsbuildinfo') ? 0 : stat.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

export const footprint: Scenario = {
  name: 'footprint',
  async run(bench): Promise<Section> {
    const rounds = bench.options.quick ? 2 : 15;
    const took = new Map(LIBRARIES.map((library): [Library, number[]] => [library, []]));
    for (let round = 0; round < rounds; round += 1) for (const [library, times] of took) times.push(importMs(library));
    const rows: string[][] = [];
    const targets: Target[] = [];
    for (const [library, times] of took) {
      const spread: Spread | undefined = spreadOf(times);
      const packages = closure(library.imports, library.from);
      const bytes = [...packages.keys()].reduce((sum, folder) => sum + bytesOf(folder), 0);
      const others = [...packages.values()].filter((name) => !name.startsWith('@incumbent/')).length;
      rows.push([library.name, shown(spread), number(bytes / 2 ** 20), String(packages.size), String(others)]);
      if (library.targetMs !== undefined && spread !== undefined) {
        targets.push({
          what: `import of ${library.name}`,
          wanted: `under ${library.targetMs} ms`,
          measured: `${number(spread.median)} ms`,
          met: spread.median < library.targetMs,
        });
      }
    }
    return {
      title: 'Footprint',
      method:
        'Import: in a process of its own each time, from just before the first `import()` to the end of the last; the libraries take turns; ours as built. Size: of the files of all packages that are installed with it, of ours those that would be published, sources included.',
      tables: [{ table: { head: ['', 'import, ms', 'installed, MB', 'packages', "others' packages"], rows } }],
      charts: [],
      targets,
    };
  },
};
