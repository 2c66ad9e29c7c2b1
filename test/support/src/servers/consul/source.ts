import { join } from 'node:path';

import { folderOnPath } from '../find.ts';
import { unpackedPackages } from '../packages.ts';
import { candidatesOf, serverSource, type ServerSource } from '../server-source.ts';
import type { Candidate } from '../source.ts';
import { consulImage } from './image.ts';
import { CONSUL_RELEASE } from './release.ts';

/**
 * The source of Consul's servers. There is one version. Searched on the first call. Throws
 * `StoreUnavailable` if there is none.
 */
export function consulSource(): Promise<ServerSource> {
  return serverSource('consul', 'default', candidates);
}

/** Folders of this machine with Consul's program, which is both the agent and the tool. */
export const consulPrograms: readonly Candidate<string>[] = [
  { what: 'consul on the PATH', find: () => folderOnPath('consul') },
  { what: `Debian's packages of ${CONSUL_RELEASE}`, find: unpacked },
];

const candidates: readonly Candidate<ServerSource>[] = candidatesOf(consulImage, consulPrograms);

async function unpacked(): Promise<string> {
  return join(await unpackedPackages({ names: ['consul'], release: CONSUL_RELEASE }), 'usr', 'bin');
}
