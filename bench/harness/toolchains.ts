/**
 * The tools of contestants in other languages: from the PATH, or Debian's packages unpacked into
 * the cache. Each function rejects with the reason if a tool is not available.
 */

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cached, programsOf, run, unpackedPackages } from '@incumbent/test-support';
import type { Program } from './driver.ts';

const BUILD_TIMEOUT_MS = 600_000;
const DRIVERS = fileURLToPath(new URL('../drivers/', import.meta.url));

export interface BuildOptions {
  /** A quick run uses only what was built before. */
  readonly quick: boolean;
}

/**
 * Go, its etcd client and the dependencies, from Debian's packages. The program is built once for
 * each version of its source.
 */
export async function goProgram({ quick }: BuildOptions): Promise<Program> {
  const sources = [join(DRIVERS, 'etcd-go', 'main.go'), join(DRIVERS, 'speak.go')];
  const folder = await cached(join('bench', `etcd-go-${await digestOf(sources)}`), async (draft) => {
    refuse(quick);
    const root = join(await goPackages(), 'usr');
    const machines = await readdir(join(root, 'lib'));
    const release = machines.find((name) => /^go-\d/.test(name)) ?? 'go';
    const goRoot = join(root, 'lib', release);
    const env = {
      ...process.env,
      GOROOT: goRoot,
      GOPATH: join(root, 'share', 'gocode'),
      GO111MODULE: 'off',
      GOCACHE: join(draft, 'cache'),
      CGO_ENABLED: '0',
    };
    // The compiler wants the files of a package in one folder.
    const source = join(draft, 'source');
    await run('mkdir', [source]);
    await run('cp', [...sources, source]);
    const program = join(draft, 'etcd-go');
    await run(join(goRoot, 'bin', 'go'), ['build', '-o', program, '.'], { cwd: source, env, timeoutMs: BUILD_TIMEOUT_MS });
    await run('rm', ['-rf', env.GOCACHE, source]);
  });
  return { command: join(folder, 'etcd-go'), args: [] };
}

/** client-go's election, compiled together with the API server of the tests. */
export async function clientGoProgram(): Promise<Program> {
  return { command: join(await programsOf('kubernetes'), 'client-go-driver'), args: [] };
}

/** The Go libraries that `golang-etcd-server-dev` depends on, according to Debian. */
async function goPackages(): Promise<string> {
  const wanted = ['golang-go', 'golang-etcd-server-dev'];
  const plan = await run('apt-get', ['install', '--simulate', '--no-install-recommends', ...wanted]);
  const names = plan.split('\n').flatMap((line) => /^Inst (golang-\S+)/.exec(line)?.[1] ?? []);
  const unplanned = wanted.filter((name) => !names.includes(name));
  // Without their files, the folder in the cache would stay incomplete.
  if (unplanned.length > 0) throw new Error(`apt plans no installation of ${unplanned.join(' or ')}: it may be installed already`);
  return unpackedPackages({ names, as: 'go-etcd' });
}

/** kazoo is pure Python, and runs on the machine's own `python3`. */
export async function kazooProgram({ quick }: BuildOptions): Promise<Program> {
  await run('python3', ['--version']);
  const folder = await cached(join('bench', 'kazoo'), async (draft) => {
    refuse(quick);
    const unpacked = await unpackedPackages({ names: ['python3-kazoo', 'python3-six'], as: 'kazoo' });
    await run('cp', ['-a', `${unpacked}/.`, draft]);
  });
  const env = { PYTHONPATH: join(folder, 'usr', 'lib', 'python3', 'dist-packages') };
  return { command: 'python3', args: [join(DRIVERS, 'kazoo', 'main.py')], env };
}

const CURATOR = ['libcurator-client-java', 'libcurator-framework-java', 'libcurator-recipes-java', 'libguava-java'];
const ZOOKEEPER = ['libzookeeper-java', 'libdropwizard-metrics-java', 'libnetty-java', 'libslf4j-java', 'libsnappy-java'];

/** Curator, compiled by the machine's own `javac`. */
export async function curatorProgram({ quick }: BuildOptions): Promise<Program> {
  const source = join(DRIVERS, 'curator', 'CuratorDriver.java');
  const classes = await cached(join('bench', `curator-${await digestOf([source])}`), async (draft) => {
    refuse(quick);
    const jars = await curatorJars();
    await run('cp', [...jars, draft]);
    await run('javac', ['-cp', join(draft, '*'), '-d', draft, source], { timeoutMs: BUILD_TIMEOUT_MS });
  });
  return { command: 'java', args: ['-XX:+UseSerialGC', '-cp', [classes, join(classes, '*')].join(delimiter), 'CuratorDriver'] };
}

async function curatorJars(): Promise<readonly string[]> {
  const folder = await unpackedPackages({ names: [...CURATOR, ...ZOOKEEPER], as: 'curator' });
  const java = join(folder, 'usr', 'share', 'java');
  // Of the several slf4j bindings, the silent one.
  const jars = (await readdir(java)).filter(
    (name) => name.endsWith('.jar') && !/-\d/.test(name) && !/^(?:slf4j-(?!api|nop)|.*-over-|jul-)/.test(name),
  );
  return jars.map((name) => join(java, name));
}

/** Downloads and compilers take minutes. */
function refuse(quick: boolean): void {
  if (quick) throw new Error('not built yet; a run without --quick does that');
}

async function digestOf(files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) hash.update(await readFile(file));
  return hash.digest('hex').slice(0, 12);
}
