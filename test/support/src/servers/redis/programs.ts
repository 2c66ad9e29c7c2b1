import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { cached } from '../cache.ts';
import { NEWER_RELEASE, unpackedPackages } from '../packages.ts';

/** Redis and those libraries that a small system lacks. */
const REDIS = ['redis-server', 'redis-tools', 'libatomic1', 'libjemalloc2', 'liblzf1', 'libssl3', 'libsystemd0'] as const;

/** Valkey and all its libraries: it needs a newer C library than the previous release has. */
const VALKEY = [
  ...['valkey-server', 'valkey-tools', 'libatomic1', 'libjemalloc2', 'liblzf1', 'libssl3t64', 'libsystemd0'],
  ...['libc6', 'libcap2', 'libgcc-s1', 'libstdc++6', 'libzstd1', 'zlib1g'],
];

/** A folder with `redis-server` and `redis-cli` of this release. */
export async function redisOfSystem(): Promise<string> {
  const root = await unpackedPackages({ names: REDIS });
  const libraries = await librariesIn(root);
  return wrapped('redis', (program) => `LD_LIBRARY_PATH='${libraries}' exec '${join(root, 'usr', 'bin', program)}' "$@"`);
}

/**
 * A folder with the same programs of Valkey, which run with the loader and the C library of their
 * own release.
 */
export async function valkeyOfNewer(): Promise<string> {
  const root = await unpackedPackages({ names: VALKEY, release: NEWER_RELEASE });
  const libraries = await librariesIn(root);
  const loader = (await readdir(libraries)).find((name) => name.startsWith('ld-linux'));
  if (loader === undefined) throw new Error('the C library came without its loader');
  const start = `exec '${join(libraries, loader)}' --library-path '${libraries}'`;
  return wrapped('valkey', (program) => `${start} '${join(root, 'usr', 'bin', program.replace('redis', 'valkey'))}' "$@"`);
}

/** `usr/lib/x86_64-linux-gnu`, or the folder of this machine's architecture. */
async function librariesIn(root: string): Promise<string> {
  const folders = await readdir(join(root, 'usr', 'lib'));
  const folder = folders.find((name) => name.endsWith('-linux-gnu'));
  if (folder === undefined) throw new Error(`no libraries in ${root}`);
  return join(root, 'usr', 'lib', folder);
}

/** A folder with a script for each program, which executes the program. */
function wrapped(name: string, command: (program: string) => string): Promise<string> {
  return cached(join('programs', `${name}-${process.arch}`), async (folder) => {
    await mkdir(folder, { recursive: true });
    for (const program of ['redis-server', 'redis-cli']) {
      await writeFile(join(folder, program), `#!/bin/sh\n${command(program)}\n`);
      await chmod(join(folder, program), 0o755);
    }
  });
}
