import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { run } from '../../run.ts';
import { cached } from '../cache.ts';
import { folderOnPath } from '../find.ts';
import { unpackedPackages } from '../packages.ts';
import type { Candidate } from '../source.ts';
import { POSTGRES_15, POSTGRES_17, type PostgresRelease } from './packages.ts';

const PROGRAMS = ['initdb', 'pg_basebackup', 'pg_ctl', 'postgres', 'psql'] as const;
const INSTALLED = '/usr/lib/postgresql';
/**
 * A namespace in which System V shared memory ends with its processes. Outside, that of a killed
 * server stays, and the system has a limit.
 */
const OWN_MEMORY = ['unshare', '--user', '--ipc'] as const;
/** `daemon`, which every system has: `initdb` looks up the name of its user. */
const OTHER_USER = ['--map-user=1', '--map-group=1'] as const;
const SAME_USER = ['--map-current-user'] as const;

/**
 * Folders of this machine with PostgreSQL's programs, which may run as this process's user. They
 * also contain `sh`, which runs a script as that user with the programs on its PATH.
 */
export const postgresPrograms: readonly Candidate<string>[] = [
  { what: 'postgres on the PATH', find: async () => asUser(await folderOnPath(...PROGRAMS)) },
  { what: `an installed PostgreSQL in ${INSTALLED}`, find: async () => asUser(await installed()) },
  packagesOf(POSTGRES_15),
];

export const newerPostgresPrograms: readonly Candidate<string>[] = [packagesOf(POSTGRES_17)];

function packagesOf(release: PostgresRelease): Candidate<string> {
  const what = `PostgreSQL ${release.major} of Debian's packages of ${release.name}`;
  return { what, find: async () => asUser(await unpacked(release)) };
}

async function installed(): Promise<string | undefined> {
  const versions = await readdir(INSTALLED).catch(() => []);
  const newest = versions.toSorted((a, b) => Number(b) - Number(a))[0];
  return newest === undefined ? undefined : join(INSTALLED, newest, 'bin');
}

/**
 * The programs of unpacked packages run with the loader and the C library of their own release.
 * They call each other and find their files by the place where they are, so this folder has the
 * layout of the packages.
 */
async function unpacked({ name, major, packages }: PostgresRelease): Promise<string> {
  const root = await unpackedPackages({ names: packages, release: name, as: `postgresql-${major}` });
  const start = await loaderOf(root);
  const home = join('lib', 'postgresql', String(major));
  const folder = await cached(join('programs', `postgresql-${major}-${process.arch}`), async (draft) => {
    await mkdir(join(draft, home), { recursive: true });
    await symlink(join(root, 'usr', 'share'), join(draft, 'share'));
    await symlink(join(root, 'usr', home, 'lib'), join(draft, home, 'lib'));
    const binaries = join(root, 'usr', home, 'bin');
    const commands = PROGRAMS.map((program) => [program, `${start} --argv0 "$0" '${join(binaries, program)}' "$@"`] as const);
    await writeScripts(join(draft, home, 'bin'), commands);
  });
  return join(folder, home, 'bin');
}

/** The command that runs a program with the libraries of unpacked packages. */
export async function loaderOf(root: string): Promise<string> {
  const [library, loader] = await Promise.all([folderWith(root, 'libc.so.6'), folderWith(root, 'ld-linux')]);
  const folders = (await librariesIn(root)).map(({ folder }) => folder).join(':');
  if (library === undefined || loader === undefined) throw new Error('the C library came without its loader');
  return `exec '${loader}' --library-path '${folders}'`;
}

async function folderWith(root: string, prefix: string): Promise<string | undefined> {
  for (const { folder, names } of await librariesIn(root)) {
    const found = names.find((name) => name.startsWith(prefix));
    if (found !== undefined) return join(folder, found);
  }
  return undefined;
}

/** Older releases have some libraries below `lib` and others below `usr/lib`. */
async function librariesIn(root: string): Promise<readonly { readonly folder: string; readonly names: readonly string[] }[]> {
  const parents = [join(root, 'usr', 'lib'), join(root, 'lib')];
  const folders = await Promise.all(
    parents.map(async (parent) => {
      const names = await readdir(parent).catch(() => []);
      return names.filter((name) => name.endsWith('-linux-gnu')).map((name) => join(parent, name));
    }),
  );
  return Promise.all(folders.flat().map(async (folder) => ({ folder, names: await readdir(folder) })));
}

/** PostgreSQL refuses to run as root. In that case it runs in a user namespace as another user. */
export async function asUser(binaries: string | undefined, programs: readonly string[] = PROGRAMS): Promise<string | undefined> {
  if (binaries === undefined) return undefined;
  const start = `PATH='${binaries}':"$PATH"\nexport PATH\nexec ${(await namespaces()).map((word) => `${word} `).join('')}`;
  const paths = [['sh', '/bin/sh'] as const, ...programs.map((program) => [program, join(binaries, program)] as const)];
  const commands = paths.map(([program, path]) => [program, `${start}'${path}' "$@"`] as const);
  const hash = createHash('sha256').update(JSON.stringify(commands)).digest('hex').slice(0, 12);
  return cached(join('programs', `postgres-${hash}`), (folder) => writeScripts(folder, commands));
}

/** The command that runs another one as a user who may run PostgreSQL. */
async function namespaces(): Promise<readonly string[]> {
  const [unshare, ...flags] = OWN_MEMORY;
  if (process.getuid?.() === 0) {
    await run(unshare, [...flags, ...OTHER_USER, 'true']);
    return [...OWN_MEMORY, ...OTHER_USER];
  }
  // Some systems reserve namespaces for root.
  const found = run(unshare, [...flags, ...SAME_USER, 'true']).then(
    () => [...OWN_MEMORY, ...SAME_USER],
    () => [],
  );
  return found;
}

export async function writeScripts(folder: string, commands: readonly (readonly [name: string, command: string])[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, command] of commands) {
    await writeFile(join(folder, name), `#!/bin/sh\n${command}\n`);
    await chmod(join(folder, name), 0o755);
  }
}
