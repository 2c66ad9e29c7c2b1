import { join } from 'node:path';

import { run } from '../run.ts';
import { folderOnPath } from '../servers/find.ts';
import { NEWER_RELEASE, unpackedPackages } from '../servers/packages.ts';
import { firstOf, type Candidate } from '../servers/source.ts';

/** The first minor release of version 2 that supports `include`. Version 1 was another program. */
const INCLUDES_SINCE = 20;

/** The command that runs `docker compose` on this machine. */
export type ComposeCommand = readonly [program: string, ...args: readonly string[]];

const candidates: readonly Candidate<ComposeCommand>[] = [
  { what: `docker with compose 2.${INCLUDES_SINCE} or newer`, find: () => asked(['docker', 'compose']) },
  { what: `docker-compose 2.${INCLUDES_SINCE} or newer on the PATH`, find: () => asked(['docker-compose']) },
  { what: `Debian's packages of ${NEWER_RELEASE}`, find: unpacked },
];

/**
 * Throws `StoreUnavailable` if there is none. Reading compose files needs no engine. Starting
 * services needs the one at `DOCKER_HOST`.
 */
export function composeCommand(): Promise<ComposeCommand> {
  return firstOf('docker compose', candidates);
}

async function asked(command: ComposeCommand): Promise<ComposeCommand | undefined> {
  const [program, ...args] = command;
  if ((await folderOnPath(program)) === undefined) return undefined;
  const version = await run(program, [...args, 'version', '--short']).catch(() => '');
  const [, major = 0, minor = 0] = /^v?(\d+)\.(\d+)/.exec(version)?.map(Number) ?? [];
  return major > 2 || (major === 2 && minor >= INCLUDES_SINCE) ? command : undefined;
}

async function unpacked(): Promise<ComposeCommand> {
  const root = await unpackedPackages({ names: ['docker-compose'], release: NEWER_RELEASE });
  return [join(root, 'usr', 'libexec', 'docker', 'cli-plugins', 'docker-compose')];
}
