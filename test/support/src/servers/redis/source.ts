import { folderOnPath } from '../find.ts';
import { LocalInstance } from '../local.ts';
import { NEWER_RELEASE } from '../packages.ts';
import { inContainers, serverSource, type ServerSource } from '../server-source.ts';
import type { Candidate } from '../source.ts';
import type { StoreVersion } from '../types.ts';
import { redisImages } from './image.ts';
import { redisOfSystem, valkeyOfNewer } from './programs.ts';

/**
 * The source of Redis's servers. Searched on the first call. Throws `StoreUnavailable` if there is
 * none.
 */
export function redisSource(version: StoreVersion = 'default'): Promise<ServerSource> {
  return serverSource('redis', version, candidates(version));
}

function candidates(version: StoreVersion): readonly Candidate<ServerSource>[] {
  const programs = version === 'default' ? redisPrograms : [newerPrograms];
  return [inContainers(redisImages[version]), ...programs.map(asProcesses)];
}

/** Folders of this machine with Redis's programs, in the system's version. */
export const redisPrograms: readonly Candidate<string>[] = [
  { what: 'redis-server on the PATH', find: () => folderOnPath('redis-server', 'redis-cli') },
  { what: "the system's packages", find: redisOfSystem },
];

const newerPrograms: Candidate<string> = { what: `Valkey of Debian's packages of ${NEWER_RELEASE}`, find: valkeyOfNewer };

function asProcesses({ what, find }: Candidate<string>): Candidate<ServerSource> {
  return {
    what,
    async find() {
      const folder = await find();
      return folder === undefined ? undefined : { what, instance: (plan) => new LocalInstance(folder, plan) };
    },
  };
}
