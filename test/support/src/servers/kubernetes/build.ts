import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';

import { run } from '../../run.ts';
import { isDebian } from '../apt.ts';
import { cached, exists, lastingCacheFolder } from '../cache.ts';
import { withLock } from '../lock.ts';
import { unpackPackages } from '../packages.ts';
import { PROGRAM_PACKAGES, SOURCE_PACKAGES, SOURCE_RELEASE } from './packages.ts';

/**
 * Three minutes on two cores that nobody else uses, and more than 30 on two that ten processes
 * share.
 */
const COMPILE_TIMEOUT_MS = 60 * 60_000;
const REMOVE_TIMEOUT_MS = 5 * 60_000;
const ROOT = new URL('../../../../../', import.meta.url);
/**
 * The files of each program: the API server, and two programs with client-go's election, one for
 * the migration from it and one for the benchmark. They share the packages, and what the compiler
 * makes of them.
 */
const SOURCES: Readonly<Record<string, readonly URL[]>> = {
  'api-server': [new URL('api-server/main.go', import.meta.url)],
  'client-go': [new URL('examples/migrating/before/client-go.go', ROOT)],
  'client-go-driver': ['client-go/main.go', 'speak.go'].map((file) => new URL(`bench/drivers/${file}`, ROOT)),
};
/** Says that all packages are unpacked. */
const UNPACKED = 'unpacked';
const PROGRAMS = ['etcd', 'etcdctl'] as const;

/**
 * The folder with the programs of {@link SOURCES}, and with `etcd` and `etcdctl` of the same
 * release. There is no package of an API server, so the first call compiles it from the sources
 * that Debian packages, and calls `onBuild` before. The result stays in the cache until a program
 * or the list of packages changes. Undefined if this machine's mirrors do not have Debian's
 * releases.
 */
export async function apiServerPrograms(onBuild: () => void = () => {}): Promise<string | undefined> {
  if (process.platform !== 'linux' || !(await isDebian())) return undefined;
  const cache = await lastingCacheFolder();
  const name = join('kubernetes', `${process.arch}-${await recipeOf()}`);
  const fill = (folder: string): Promise<void> => {
    onBuild();
    return build(folder, cache);
  };
  // Compiling twice at the same time would take twice as long, and more memory than some machines
  // have.
  return withLock(join(cache, 'kubernetes.lock'), () => cached(name, fill, cache));
}

async function recipeOf(): Promise<string> {
  const hash = createHash('sha256');
  for (const source of Object.values(SOURCES).flat()) hash.update(await readFile(source));
  for (const name of [...SOURCE_PACKAGES, ...PROGRAM_PACKAGES, SOURCE_RELEASE]) hash.update(`\n${name}`);
  return hash.digest('hex').slice(0, 16);
}

/**
 * Works in a folder of the cache, which stays if the build fails: a machine that is too busy to
 * compile in time goes on there with the next attempt.
 */
async function build(folder: string, cache: string): Promise<void> {
  const work = join(cache, 'kubernetes-build', await recipeOf());
  const root = join(work, 'root');
  if (!(await exists(join(work, UNPACKED)))) {
    await removeTree(work);
    await mkdir(root, { recursive: true });
    await unpackPackages({ names: [...SOURCE_PACKAGES, ...PROGRAM_PACKAGES], release: SOURCE_RELEASE }, root);
    await writeFile(join(work, UNPACKED), '');
  }
  await compile(work, root, folder);
  for (const program of PROGRAMS) await keep(join(root, 'usr', 'bin', program), join(folder, program));
  await removeTree(work);
}

async function removeTree(folder: string): Promise<void> {
  if (!(await exists(folder))) return;
  // Go's caches are read-only, so `rm` needs permission to empty their folders first.
  await run('chmod', ['-R', 'u+w', folder], { timeoutMs: REMOVE_TIMEOUT_MS });
  await rm(folder, { recursive: true, force: true });
}

/** Compiles the programs into the folder. Go names each like the folder of its source. */
async function compile(work: string, root: string, output: string): Promise<void> {
  const [goroot, gopath] = [join(root, 'usr', 'lib', 'go-1.27'), join(root, 'usr', 'share', 'gocode')];
  const programs = join(gopath, 'src', 'incumbent');
  for (const [name, files] of Object.entries(SOURCES)) {
    await mkdir(join(programs, name), { recursive: true });
    for (const file of files) await copyFile(file, join(programs, name, basename(file.pathname)));
  }
  const jobs = `-p=${Math.max(1, availableParallelism())}`;
  const names = Object.keys(SOURCES).map((name) => `./${name}`);
  await run('nice', ['-n', '5', join(goroot, 'bin', 'go'), 'build', jobs, '-trimpath', '-ldflags=-s -w', '-o', `${output}/`, ...names], {
    cwd: programs,
    timeoutMs: COMPILE_TIMEOUT_MS,
    env: {
      PATH: process.env['PATH'],
      HOME: work,
      GOROOT: goroot,
      GOPATH: gopath,
      GOCACHE: join(work, 'cache'),
      GO111MODULE: 'off',
      GOFLAGS: '',
      GOPROXY: 'off',
      GOTOOLCHAIN: 'local',
      CGO_ENABLED: '0',
    },
  });
}

async function keep(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  await chmod(to, 0o755);
}
