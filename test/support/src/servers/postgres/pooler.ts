import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { freePort, LOOPBACK } from '../../ports.ts';
import { run } from '../../run.ts';
import { cached } from '../cache.ts';
import { folderOnPath } from '../find.ts';
import { LocalInstance } from '../local.ts';
import { unpackedPackages } from '../packages.ts';
import { ServerProcess } from '../process.ts';
import { canBeHad } from '../require.ts';
import { firstOf, type Candidate } from '../source.ts';
import { onlyServer, startCluster, startServers } from '../start.ts';
import type { OwnServer } from '../types.ts';
import { ctlArgs } from './ctl.ts';
import { POSTGRES_15 } from './packages.ts';
import { asUser, loaderOf, postgresPrograms, writeScripts } from './programs.ts';
import { isServing } from './status.ts';
import { SUPERUSER } from './template.ts';

const PROGRAM = 'pgbouncer';
/** PgBouncer and every library that it loads. */
const PACKAGES = [
  ...['pgbouncer', 'libaudit1', 'libc-ares2', 'libc6', 'libcap-ng0', 'libcap2', 'libevent-2.1-7', 'libgcrypt20', 'libgpg-error0'],
  ...['liblz4-1', 'liblzma5', 'libpam0g', 'libssl3', 'libsystemd0', 'libzstd1'],
];

export interface PoolerOptions {
  /**
   * Whether a connection to the server belongs to a client for one transaction (default), or as
   * long as the client is connected.
   */
  readonly mode?: 'transaction' | 'session';
  /** Other users than `test` who may connect. The server must know them. */
  readonly users?: readonly string[];
  /** The most connections to the server. Default 20. */
  readonly poolSize?: number;
}

/** Whether PgBouncer is available, reported as `requireStore` does. */
export function requirePgBouncer(): Promise<boolean> {
  return canBeHad(() => firstOf(PROGRAM, candidates));
}

/**
 * Starts a PgBouncer in front of a server without passwords, for this process alone. Resolves when
 * a client gets an answer from the server through it. Its URL is the server's with another port.
 * Throws `StoreUnavailable` if it is not available.
 */
export async function startPgBouncer(server: { readonly url: string }, options: PoolerOptions = {}): Promise<OwnServer> {
  const [programs, tools] = await Promise.all([firstOf(PROGRAM, candidates), firstOf('psql', postgresPrograms)]);
  const cluster = await startCluster(PROGRAM, (premises) =>
    startServers(premises, async () => {
      const port = await freePort();
      const url = Object.assign(new URL(server.url), { port: String(port) }).href;
      const folder = join(premises.folder, String(port));
      await mkdir(folder);
      await writeFile(join(folder, 'users.txt'), usersFile(options));
      await writeFile(join(folder, 'pgbouncer.ini'), settingsFile(server, { folder, port, ...options }));
      const plan = { program: PROGRAM, args: [join(folder, 'pgbouncer.ini')], folder, name: PROGRAM };
      const kind = {
        name: 'PgBouncer',
        serves: isServing,
        versionOf: () => versionIn(programs),
        leadershipOf: () => Promise.reject(new Error('PgBouncer is no server of a cluster')),
        ctl: (_run: unknown, _endpoints: unknown, self: { readonly url: string }, args: readonly string[]) =>
          run(join(tools, 'psql'), ctlArgs(self, args)),
      };
      return [new ServerProcess({ url, instance: new LocalInstance(programs, plan), kind, auth: undefined, tls: undefined })];
    }),
  );
  return onlyServer(cluster);
}

/** It refuses to run as root, as PostgreSQL does. */
const candidates: readonly Candidate<string>[] = [
  { what: `${PROGRAM} on the PATH`, find: async () => asUser(await folderOnPath(PROGRAM), [PROGRAM]) },
  { what: `Debian's packages of ${POSTGRES_15.name}`, find: async () => asUser(await unpacked(), [PROGRAM]) },
];

async function unpacked(): Promise<string> {
  const root = await unpackedPackages({ names: PACKAGES, release: POSTGRES_15.name, as: PROGRAM });
  const command = `${await loaderOf(root)} '${join(root, 'usr', 'sbin', PROGRAM)}' "$@"`;
  return cached(join('programs', `${PROGRAM}-${process.arch}`), (folder) => writeScripts(folder, [[PROGRAM, command]]));
}

async function versionIn(programs: string): Promise<string> {
  return /\d+(?:\.\d+)+/.exec(await run(join(programs, PROGRAM), ['--version']))?.[0] ?? '';
}

function usersFile({ users = [] }: PoolerOptions): string {
  return [SUPERUSER, ...users].map((user) => `"${user}" ""\n`).join('');
}

interface PoolerSetup extends PoolerOptions {
  readonly folder: string;
  readonly port: number;
}

/** Its other settings are the defaults, so it rejects startup parameters that it does not know. */
function settingsFile(server: { readonly url: string }, { folder, port, mode = 'transaction', poolSize = 20 }: PoolerSetup): string {
  return `[databases]
* = host=${LOOPBACK} port=${new URL(server.url).port}

[pgbouncer]
listen_addr = ${LOOPBACK}
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users.txt')}
admin_users = ${SUPERUSER}
pool_mode = ${mode}
default_pool_size = ${poolSize}
max_client_conn = 1000
`;
}
