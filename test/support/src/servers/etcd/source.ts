import { join } from 'node:path';

import { folderOnPath } from '../find.ts';
import { NEWER_RELEASE, unpackedPackages } from '../packages.ts';
import { candidatesOf, serverSource, type ServerSource } from '../server-source.ts';
import type { Candidate } from '../source.ts';
import type { StoreVersion } from '../types.ts';
import { etcdImages } from './image.ts';

const PROGRAMS = ['etcd', 'etcdctl'] as const;
const PACKAGES = ['etcd-server', 'etcd-client'] as const;

/**
 * The source of etcd's servers. Searched on the first call. Throws `StoreUnavailable` if there is
 * none.
 */
export function etcdSource(version: StoreVersion = 'default'): Promise<ServerSource> {
  const programs = version === 'default' ? etcdPrograms : [newerPrograms];
  return serverSource('etcd', version, candidatesOf(etcdImages[version], programs));
}

/** Folders of this machine with etcd's programs, in the system's version. */
export const etcdPrograms: readonly Candidate<string>[] = [
  { what: 'etcd on the PATH', find: () => folderOnPath(...PROGRAMS) },
  { what: "the system's packages", find: () => programsOf() },
];

/** The newer etcd needs only a C library, which the previous release has. */
const newerPrograms: Candidate<string> = { what: `Debian's packages of ${NEWER_RELEASE}`, find: () => programsOf(NEWER_RELEASE) };

async function programsOf(release?: string): Promise<string> {
  const folder = await unpackedPackages({ names: PACKAGES, ...(release === undefined ? {} : { release }) });
  return join(folder, 'usr', 'bin');
}
