import { connect } from 'node:net';
import { join } from 'node:path';

import { freePort, LOOPBACK } from '../../ports.ts';
import { run } from '../../run.ts';
import { makeScratch } from '../../scratch.ts';
import { setting } from '../../settings.ts';
import { LocalInstance } from '../local.ts';
import { ready } from '../ready.ts';
import { canBeHad } from '../require.ts';
import { firstOf } from '../source.ts';
import { postgresPrograms } from './programs.ts';

const READY_MS = 30_000;
const USER = 'test';
/**
 * The answer of a running server to a client's first message: "authentication", because the user
 * needs no password. A server that is still starting answers with an error.
 */
const WELCOME = 'R';

/** A PostgreSQL with one user and without a password, on this machine only. */
export interface Postgres extends AsyncDisposable {
  /** The URL for clients, with user and database. */
  readonly url: string;
}

/** Whether PostgreSQL is available, reported as {@link requireStore} does. */
export function requirePostgres(): Promise<boolean> {
  return canBeHad(async () => setting('INCUMBENT_TEST_POSTGRES') ?? (await firstOf('postgres', postgresPrograms)));
}

/**
 * The server at `INCUMBENT_TEST_POSTGRES`, otherwise one for this process alone. Throws
 * `StoreUnavailable` if there is none.
 */
export async function startPostgres(): Promise<Postgres> {
  const given = setting('INCUMBENT_TEST_POSTGRES');
  if (given !== undefined) return { url: given, [Symbol.asyncDispose]: async () => {} };
  const programs = await firstOf('postgres', postgresPrograms);
  await using resources = new AsyncDisposableStack();
  const scratch = await makeScratch('postgres');
  resources.defer(() => scratch.remove());
  const data = join(scratch.path, 'data');
  await run(join(programs, 'initdb'), ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync']);
  const port = await freePort();
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off', 'jit=off'];
  const plan = {
    program: 'postgres',
    args: ['-D', data, '-p', String(port), ...settings.flatMap((value) => ['-c', value])],
    folder: scratch.path,
    name: 'postgres',
  };
  const instance = new LocalInstance(programs, plan);
  await instance.start();
  resources.defer(() => instance.remove());
  await ready(instance, () => answers(port), { what: `PostgreSQL at port ${port}`, withinMs: READY_MS });
  const all = resources.move();
  return { url: `postgres://${USER}@${LOOPBACK}:${port}/postgres`, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, LOOPBACK);
  try {
    socket.write(startupMessage());
    for await (const answer of socket) return String(answer).startsWith(WELCOME);
    return false;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/**
 * Version 3.0, then names and values:
 * https://www.postgresql.org/docs/15/protocol-message-formats.html
 */
function startupMessage(): Buffer {
  const content = Buffer.from(`\0\u0003\0\0user\0${USER}\0database\0postgres\0\0`);
  const length = Buffer.alloc(4);
  length.writeInt32BE(content.length + length.length);
  return Buffer.concat([length, content]);
}
