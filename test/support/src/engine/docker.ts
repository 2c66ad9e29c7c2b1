import { join } from 'node:path';

import { folderOnPath } from '../servers/find.ts';
import { NEWER_RELEASE, unpackedPackages } from '../servers/packages.ts';
import { firstOf } from '../servers/source.ts';

/**
 * The path of the `docker` command on this machine, or of Debian's. Throws `StoreUnavailable` if
 * there is none. It uses the engine at `DOCKER_HOST`.
 */
export function dockerCommand(): Promise<string> {
  return firstOf('docker command', [
    { what: 'docker on the PATH', find: installed },
    { what: `Debian's packages of ${NEWER_RELEASE}`, find: unpacked },
  ]);
}

async function installed(): Promise<string | undefined> {
  const folder = await folderOnPath('docker');
  return folder === undefined ? undefined : join(folder, 'docker');
}

async function unpacked(): Promise<string> {
  return join(await unpackedPackages({ names: ['docker-cli'], release: NEWER_RELEASE }), 'usr', 'bin', 'docker');
}
