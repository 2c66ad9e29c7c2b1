import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { run } from '../../run.ts';
import { cached } from '../cache.ts';
import { folderOnPath } from '../find.ts';
import { unpackedPackages } from '../packages.ts';
import type { Candidate } from '../source.ts';

const PROGRAMS = ['initdb', 'postgres'] as const;
const INSTALLED = '/usr/lib/postgresql';

/** PostgreSQL and those libraries that a small system lacks. */
const PACKAGES = [
  ...[
    'postgresql-15',
    'libaudit1',
    'libcap-ng0',
    'libcom-err2',
    'libgssapi-krb5-2',
    'libicu72',
    'libk5crypto3',
    'libkeyutils1',
    'libkrb5-3',
    'libkrb5support0',
  ],
  ...['libldap-2.5-0', 'liblz4-1', 'libpam0g', 'libpq5', 'libsasl2-2', 'libssl3', 'libsystemd0', 'libxml2', 'libzstd1'],
];

/** Folders of this machine with PostgreSQL's programs, which may run as this process's user. */
export const postgresPrograms: readonly Candidate<string>[] = [
  { what: 'postgres on the PATH', find: async () => asUser(await folderOnPath(...PROGRAMS), 'path') },
  { what: `an installed PostgreSQL in ${INSTALLED}`, find: async () => asUser(await installed(), 'installed') },
  { what: "the system's packages", find: ofSystem },
];

async function installed(): Promise<string | undefined> {
  const versions = await readdir(INSTALLED).catch(() => []);
  const newest = versions.toSorted((a, b) => Number(b) - Number(a))[0];
  return newest === undefined ? undefined : join(INSTALLED, newest, 'bin');
}

async function ofSystem(): Promise<string | undefined> {
  const root = await unpackedPackages({ names: PACKAGES, as: 'postgresql' });
  const libraries = (await readdir(join(root, 'usr', 'lib'))).filter((name) => name.endsWith('-linux-gnu'));
  const paths = libraries.map((name) => join(root, 'usr', 'lib', name)).join(':');
  return asUser(join(root, 'usr', 'lib', 'postgresql', '15', 'bin'), 'packages', `LD_LIBRARY_PATH='${paths}' `);
}

/** PostgreSQL refuses to run as root. In that case it runs in a user namespace as another user. */
async function asUser(folder: string | undefined, name: string, env = ''): Promise<string | undefined> {
  const isRoot = process.getuid?.() === 0;
  if (folder === undefined || (!isRoot && env === '')) return folder;
  const start = isRoot ? 'exec unshare --user --map-user=1000 --map-group=1000 ' : 'exec ';
  if (isRoot) await run('unshare', ['--user', '--map-user=1000', '--map-group=1000', 'true']);
  return cached(join('programs', `postgres-${name}${isRoot ? '-root' : ''}-${process.arch}`), async (wrappers) => {
    await mkdir(wrappers, { recursive: true });
    for (const program of PROGRAMS) {
      await writeFile(join(wrappers, program), `#!/bin/sh\n${env}${start}'${join(folder, program)}' "$@"\n`);
      await chmod(join(wrappers, program), 0o755);
    }
  });
}
