import { join } from 'node:path';

import { run } from '../run.ts';
import { folderOnPath } from '../servers/find.ts';
import { NEWER_RELEASE, unpackedPackages } from '../servers/packages.ts';
import { firstOf, type Candidate } from '../servers/source.ts';

/** How `docker compose` is called on this machine. */
export type ComposeCommand = readonly [program: string, ...args: readonly string[]];

const candidates: readonly Candidate<ComposeCommand>[] = [
  { what: 'docker with its plugin', find: () => asked(['docker', 'compose']) },
  { what: 'docker-compose of version 2 on the PATH', find: () => asked(['docker-compose']) },
  { what: `Debian's packages of ${NEWER_RELEASE}`, find: unpacked },
];

/** Throws `StoreUnavailable` where there is none. Reading files takes no engine; starting what is in them does, on `DOCKER_HOST`. */
export function composeCommand(): Promise<ComposeCommand> {
  return firstOf('docker compose', candidates);
}

/** The first version was another program, and knows less. */
async function asked(command: ComposeCommand): Promise<ComposeCommand | undefined> {
  const [program, ...args] = command;
  if ((await folderOnPath(program)) === undefined) return undefined;
  const version = await run(program, [...args, 'version', '--short']).catch(() => '');
  return /^v?[2-9]\.|^v?\d\d/.test(version) ? command : undefined;
}

async function unpacked(): Promise<ComposeCommand> {
  const root = await unpackedPackages({ names: ['docker-compose'], release: NEWER_RELEASE });
  return [join(root, 'usr', 'libexec', 'docker', 'cli-plugins', 'docker-compose')];
}
