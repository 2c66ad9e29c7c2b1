/**
 * The start of a connection: the protocol's version, the user, the database, and a check of the
 * server.
 */

import type { Keyspace } from '../namespace.ts';
import { connectionRefused, ExchangeError, HELLO_REFUSED, isAnswer, notConnected } from '../protocol/failure.ts';
import { textOf } from '../protocol/replies.ts';
import { ErrorReply, isList, type Reply } from '../protocol/resp.ts';
import type { Connection } from './connection.ts';

/** A user of Redis's own, or a password alone. */
export interface Credentials {
  /**
   * Not empty. Default `default`, the user of a server that has only a password (`requirepass`).
   */
  readonly username?: string | undefined;
  readonly password: string;
}

export interface Greeting {
  readonly credentials: Credentials | undefined;
  readonly db: number;
  /** What must answer. Default: a server. */
  readonly expects?: 'server' | 'sentinel';
  /** Checks the server further, and rejects if the store cannot use it. Default: no check. */
  readonly check?: (connection: Connection) => Promise<void>;
}

/**
 * The first version of Redis whose scripts declare that they need no memory, and can ask for their
 * permissions. Every Valkey has both.
 */
const MIN_VERSION = 7;

/**
 * Resolves when the server accepts requests. Rejects with an `ExchangeError` (`notConnected`), or
 * with the error of the check.
 */
export async function greet(connection: Connection, { credentials, db, expects, check }: Greeting): Promise<void> {
  const checkHello = expects === 'sentinel' ? checkSentinel : checkMayAcceptWrites;
  try {
    const login = credentials === undefined ? [] : ['AUTH', credentials.username ?? 'default', credentials.password];
    await connection.request(['HELLO', '3', ...login, 'SETNAME', 'incumbent'], checkHello);
  } catch (error) {
    throw helloFailed(error);
  }
  try {
    if (db !== 0) await selectDatabase(connection, db);
    await check?.(connection);
    connection.onGreeted();
  } catch (error) {
    throw asNotConnected(error);
  }
}

async function selectDatabase(connection: Connection, db: number): Promise<void> {
  try {
    await connection.request(['SELECT', String(db)], () => {});
  } catch (error) {
    throw isAnswer(error, 'ERR') ? notConnected('foreign', error.message, error) : error;
  }
}

/**
 * Sends a write that changes nothing: it deletes a key that nobody makes. Rejects with the answer
 * of a server that refuses writes, such as a primary that lacks replicas, or whose disk fails. Its
 * role does not show this.
 */
export async function checkWrites(connection: Connection, { keyPrefix }: Keyspace): Promise<void> {
  await connection.request(['DEL', keyPrefix], () => {});
}

/** Asks the server whether it is still a primary. Rejects with an `ExchangeError`. */
export async function checkRole(connection: Connection): Promise<void> {
  await connection.request(['HELLO'], checkPrimary);
}

/**
 * A replica of a cluster passes: it answers the greeting's check with `MOVED`, which names the
 * primary.
 */
function checkMayAcceptWrites(hello: Reply): void {
  checkServer(hello);
  if (fieldOf(hello, 'mode') !== 'cluster') checkPrimary(hello);
}

function checkPrimary(hello: Reply): void {
  if (fieldOf(hello, 'role') === 'replica') throw notConnected('follower', 'the server is a replica, which accepts no writes');
}

function checkServer(hello: Reply): void {
  const [server, version, mode] = ['server', 'version', 'mode'].map((name) => fieldOf(hello, name));
  if (version === undefined) throw notConnected('foreign', 'the server is not Redis or Valkey');
  if (mode === 'sentinel') throw notConnected('foreign', 'it is a Sentinel: name it in redis+sentinel://, or in the option sentinel');
  if (server === 'redis' && Number.parseInt(version, 10) < MIN_VERSION)
    throw notConnected('foreign', `the server is Redis ${version}; version ${MIN_VERSION} or newer is needed`);
}

function checkSentinel(hello: Reply): void {
  if (fieldOf(hello, 'mode') !== 'sentinel')
    throw notConnected(
      'foreign',
      'it is no Sentinel: a URL for servers begins with redis:// or rediss://, and sentinel.endpoints are Sentinels',
    );
}

function fieldOf(map: Reply, name: string): string | undefined {
  if (!isList(map)) return undefined;
  let [isKey, isFound] = [true, false];
  for (const reply of map) {
    const text = reply instanceof Uint8Array ? textOf(reply) : reply;
    if (isFound) return typeof text === 'string' ? text : undefined;
    isFound = isKey && text === name;
    isKey = !isKey;
  }
  return undefined;
}

/**
 * Keeps the server's answer out of the error and its cause: the answer may contain the password.
 */
function helloFailed(error: unknown): unknown {
  if (!(error instanceof ExchangeError) || error.failure.kind !== 'answer')
    return asNotConnected(error, ' before it had answered, as a server does that expects TLS, or that expects none');
  const answer = knownRefusal(error.failure.answer);
  return new ExchangeError({ kind: 'notConnected', why: 'refused', answer }, answer.text);
}

/** `hint` explains a connection that ended. */
function asNotConnected(error: unknown, hint = ''): unknown {
  if (!(error instanceof ExchangeError)) return error;
  const { failure, message } = error;
  switch (failure.kind) {
    case 'answer':
      return connectionRefused(failure.answer, error);
    case 'cut':
      return notConnected('unreachable', `${message}${hint}`, error.cause);
    case 'malformed':
      return notConnected('foreign', message, error.cause);
    default:
      return error;
  }
}

/**
 * How refusals of HELLO begin, and the texts that replace them. The first word, the code, stays.
 */
const KNOWN_REFUSALS: readonly (readonly [RegExp, string])[] = [
  [/^WRONGPASS\b/, 'WRONGPASS the user or the password is wrong, or the user is disabled'],
  [/^NOAUTH\b/, 'NOAUTH the server requires a password, and the store was opened without credentials'],
  [/^ERR (?:AUTH|Client sent AUTH)\b/, 'ERR AUTH was sent to a server that has no password'],
  [/^NOPERM\b/, "NOPERM this user may not use the 'hello' command"],
  [/^DENIED\b/, 'DENIED the server is in protected mode: it accepts connections from its own machine only'],
  [/^NOPROTO\b/, 'NOPROTO the server does not speak version 3 of the protocol'],
  [/^ERR unknown command\b/i, 'ERR unknown command HELLO: the server is older than version 6, or its configuration renames the command'],
  [/^ERR max number of clients\b/, 'ERR max number of clients reached'],
  [/^LOADING\b/, 'LOADING the server is loading its data'],
  [/^BUSY\b/, 'BUSY the server is running a script'],
  [/^MASTERDOWN\b/, 'MASTERDOWN the replica has lost its primary'],
  [/^CLUSTERDOWN\b/, 'CLUSTERDOWN the cluster is incomplete'],
  [/^TRYAGAIN\b/, 'TRYAGAIN the server asks to try again'],
  [/^READONLY\b/, 'READONLY the server accepts no writes'],
  [/^ERR\b/, HELLO_REFUSED],
];

/**
 * Replaces the text of a refusal by one of this package. A server that does not know HELLO repeats
 * its arguments in the answer, and these contain the password.
 */
function knownRefusal({ text }: ErrorReply): ErrorReply {
  const [, known] = KNOWN_REFUSALS.find(([beginning]) => beginning.test(text)) ?? [];
  return new ErrorReply(known ?? 'the server refused the command HELLO');
}
