import { folderOnPath } from '../find.ts';
import { NEWER_RELEASE } from '../packages.ts';
import { candidatesOf, serverSource, type ServerSource } from '../server-source.ts';
import type { Candidate } from '../source.ts';
import type { StoreVersion } from '../types.ts';
import { redisImages } from './image.ts';
import { redisOfSystem, valkeyOfNewer } from './programs.ts';

/**
 * The source of Redis's servers. Searched on the first call. Throws `StoreUnavailable` if there is
 * none.
 */
export function redisSource(version: StoreVersion = 'default'): Promise<ServerSource> {
  const programs = version === 'default' ? redisPrograms : [newerPrograms];
  return serverSource('redis', version, candidatesOf(redisImages[version], programs));
}

/** Folders of this machine with Redis's programs, in the system's version. */
export const redisPrograms: readonly Candidate<string>[] = [
  { what: 'redis-server on the PATH', find: () => folderOnPath('redis-server', 'redis-cli') },
  { what: "the system's packages", find: redisOfSystem },
];

const newerPrograms: Candidate<string> = { what: `Valkey of Debian's packages of ${NEWER_RELEASE}`, find: valkeyOfNewer };
