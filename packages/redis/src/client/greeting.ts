/** What opens a connection: the third version of the protocol, the user, the database; and what the server says of itself. */

import { ExchangeError, notConnected, turnedAway } from './failure.ts';
import type { Connection } from './connection.ts';
import { refusalOf } from './refusal.ts';
import { isList, type Reply } from '../protocol/resp.ts';

export interface Credentials {
  /** `default` if left out: the user of servers that merely have a password. */
  readonly username?: string;
  readonly password: string;
}

export interface Greeting {
  readonly credentials: Credentials | undefined;
  readonly db: number;
  /** Asks the server what else it must be, and rejects where it is not. Nothing by default. */
  readonly check?: (connection: Connection) => Promise<void>;
}

/** The first version of Redis whose scripts can say that they do not run where memory is short, and ask what they may. Every Valkey has that. */
const OLDEST = 7;

/** Resolves when the server takes requests. Rejects with an `ExchangeError`, always `notConnected`, or with what the check has found. */
export async function greet(connection: Connection, { credentials, db, check }: Greeting): Promise<void> {
  try {
    const login = credentials === undefined ? [] : ['AUTH', credentials.username ?? 'default', credentials.password];
    checkServer(await connection.request(['HELLO', '3', ...login, 'SETNAME', 'incumbent']));
  } catch (error) {
    throw notGreeted(error);
  }
  try {
    if (db !== 0) await connection.request(['SELECT', String(db)]);
    await check?.(connection);
    connection.greeted();
  } catch (error) {
    throw asNotConnected(error, '');
  }
}

/** Asks the server whether it still takes writes. Rejects with an `ExchangeError`. */
export async function checkRole(connection: Connection): Promise<void> {
  checkServer(await connection.request(['HELLO']));
}

function checkServer(hello: Reply): void {
  const [server, version, role] = ['server', 'version', 'role'].map((name) => fieldOf(hello, name));
  if (version === undefined) throw notConnected('foreign', 'what answers is no Redis');
  if (server === 'redis' && Number.parseInt(version, 10) < OLDEST)
    throw notConnected('foreign', `this is Redis ${version}: it takes ${OLDEST} or newer`);
  if (role === 'replica') throw notConnected('replica', 'the server is a replica, which takes no writes');
}

function fieldOf(map: Reply, name: string): string | undefined {
  if (!isList(map)) return undefined;
  const words = map.map((word: Reply) => (word instanceof Uint8Array ? Buffer.from(word).toString() : word));
  const at = words.findIndex((word, index) => index % 2 === 0 && word === name);
  const value: unknown = at < 0 ? undefined : words[at + 1];
  return typeof value === 'string' ? value : undefined;
}

/** Without the answer itself, also as the cause: the password may be in it. */
function notGreeted(error: unknown): unknown {
  if (!(error instanceof ExchangeError) || error.failure.kind !== 'answer')
    return asNotConnected(error, ' before it had said anything, as one does that expects TLS, or none');
  const answer = refusalOf(error.failure.answer);
  return new ExchangeError({ kind: 'notConnected', why: 'turnedAway', answer }, answer.text);
}

function asNotConnected(error: unknown, guess: string): unknown {
  if (!(error instanceof ExchangeError)) return error;
  const { failure, message } = error;
  switch (failure.kind) {
    case 'answer':
      return turnedAway(failure.answer, error);
    case 'cut':
      return notConnected('unreachable', `${message}${guess}`, error.cause);
    case 'malformed':
      return notConnected('foreign', message, error.cause);
    default:
      return error;
  }
}
