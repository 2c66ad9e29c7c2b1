/**
 * Maps what an exchange ran into to codes and outcomes. No other file does this. A comment gives
 * the reason of each mapping. `refused` and `notSent` need certainty; every other error is
 * `unknown`.
 *
 * PostgreSQL rolls a statement back when it reports an error, so most of its errors are a certain
 * no. An error of the machine is not: if it happens while the commit is written, the server
 * crashes, reports the same SQLSTATE, and may find the commit when it starts again. The SQLSTATEs
 * are those of https://www.postgresql.org/docs/17/errcodes-appendix.html.
 */

import { StoreError } from '@incumbent/core/adapter';
import { judgeCommon, judgeNotConnected, mildestOf, storeErrorOf, type Verdict, verdictsOf, withGrant } from '@incumbent/network';

import { ExchangeError, type ServerAnswer } from './client/failure.ts';
import { RAISED } from './schema/functions.ts';
import { connectGrantSql, GRANTED, grantSql } from './schema/schema.ts';

const verdictOn = verdictsOf(ExchangeError, judge);

/**
 * The error to throw for whatever a call ran into. `method` names the call: `open`, or the call of
 * a store that is open.
 */
export function toStoreError(error: unknown, method: string): StoreError {
  return storeErrorOf(error, `postgres ${method}`, method === 'open' ? verdictOn : verdictOnceOpen);
}

/** Who was refused, and where. */
interface Grantee {
  readonly schema: string;
  readonly source: { readonly username: string; readonly database: string };
}

/** Names what a role lacks, in a `PERMISSION_DENIED`. Other errors are unchanged. */
export function withMissingGrant(error: StoreError, { schema, source: { username, database } }: Grantee): unknown {
  const { cause } = error;
  if (!(cause instanceof ExchangeError && cause.failure.kind === 'notConnected'))
    return withGrant(error, () => ({ right: GRANTED, keys: [`schema ${schema}`], grant: grantSql(schema, username) }));
  // A pool that has given no connection does not say who connects. The server may also have
  // refused the first statement after the login: its message names the function.
  if (username === '' || cause.cause instanceof ExchangeError) return error;
  return withGrant(error, () => ({
    right: 'CONNECT',
    keys: [`database ${database}`],
    grant: connectGrantSql(database, username),
  }));
}

/** Of several servers' errors, the error after which a retry is most likely to succeed. */
export function mildestError(errors: readonly unknown[]): unknown {
  return mildestOf(errors, verdictOn);
}

/** The schema is missing, or is of another version. `what` completes "the schema <name> …". */
export function unsuitableSchema(schema: string, what: string): StoreError {
  const message = `postgres: the schema ${schema} ${what}`;
  return new StoreError('UNSUPPORTED', 'refused', message);
}

/** Says how an administrator creates the schema. */
export function howToCreate(schema: string): string {
  return `create it with the statements that "incumbent postgres schema --schema ${schema}" prints, or open the store as a role that may create it`;
}

/** The role may not create the schema. */
export function mayNotMigrate(schema: string, cause: unknown): StoreError {
  const message = `postgres: the schema ${schema} is missing or old, and this role may not create it: ${howToCreate(schema)}`;
  return new StoreError('PERMISSION_DENIED', 'refused', message, { cause });
}

/**
 * On an open store, a missing database or schema counts as temporary: somebody may restore it. The
 * only limit that a call can exceed is that of the queue of notifications, which becomes shorter
 * again.
 */
function verdictOnceOpen(error: unknown): Verdict {
  const verdict = verdictOn(error);
  if (verdict === LIMIT_EXCEEDED) return QUEUE_FULL;
  return verdict === NO_DATABASE || verdict === NO_SCHEMA ? GONE : verdict;
}

function judge({ failure, cause }: ExchangeError): Verdict {
  switch (failure.kind) {
    case 'notConnected':
      return judgeNotConnected(failure, cause, judgeLogin);
    case 'answer':
      return judgeAnswer(failure.answer);
    case 'notReplicated':
      // The commit exists on this server. A standby that lacks it may be promoted.
      return ['UNAVAILABLE', 'unknown'];
    default:
      return judgeCommon(failure);
  }
}

/** An error answer to the login, which changes nothing. */
function judgeLogin({ state }: ServerAnswer): Verdict {
  // Wrong password, or no rule of pg_hba.conf for this user, database and address.
  if (state.startsWith('28')) return ['UNAUTHENTICATED', 'refused'];
  if (state === '3D000') return NO_DATABASE;
  if (state === '42501') return ['PERMISSION_DENIED', 'refused'];
  // Starting, shutting down, too many connections, or a pooler that cannot reach the server.
  return ['UNAVAILABLE', 'notSent'];
}

function judgeAnswer({ state }: ServerAnswer): Verdict {
  const known = ANSWERS[state];
  if (known !== undefined) return known;
  const ofClass = CLASSES[state.slice(0, 2)];
  if (ofClass !== undefined) return ofClass;
  return ['STORE_FAILED', 'refused'];
}

const NOT_NOW: Verdict = ['UNAVAILABLE', 'notSent'];
const NO_DATABASE: Verdict = [
  'UNSUPPORTED',
  'refused',
  'in a URL, the path is the name of the database, and ?namespace= gives the namespace',
];
const NO_SCHEMA: Verdict = [
  'UNSUPPORTED',
  'refused',
  'a table or a function of the schema is missing: "incumbent postgres schema" prints the statements that create it',
];
const GONE: Verdict = [
  'UNAVAILABLE',
  'notSent',
  'it existed when the store was opened: restore it, or create the schema with the statements that "incumbent postgres schema" prints',
];
/** The name of the namespace is too long for an index. No key is, because the store checks keys. */
const LIMIT_EXCEEDED: Verdict = ['TOO_LARGE', 'refused'];
const QUEUE_FULL: Verdict = [
  'UNAVAILABLE',
  'notSent',
  'the queue of notifications may be full: end the session that has listened and keeps a transaction open',
];
const DAMAGED: Verdict = ['CORRUPT', 'unknown'];

const ANSWERS: Readonly<Record<string, Verdict | undefined>> = {
  [RAISED.standby]: NOT_NOW,
  [RAISED.late]: NOT_NOW,
  [RAISED.tooLarge]: ['TOO_LARGE', 'refused'],
  // A standby, or a server that refuses writes because its disk is full.
  '25006': NOT_NOW,
  // The lock was not free within the call's time.
  '55P03': NOT_NOW,
  // Cancelled: by an operator, or by a statement_timeout of the role. The statement was rolled
  // back.
  '57014': NOT_NOW,
  '57P03': NOT_NOW,
  // The server's transaction_timeout is over, maybe in the middle of the commit.
  '25P04': ['UNAVAILABLE', 'unknown'],
  '53300': NOT_NOW,
  // The server does not know how the statement ended.
  '40003': ['UNAVAILABLE', 'unknown'],
  '42501': ['PERMISSION_DENIED', 'refused'],
  '3F000': NO_SCHEMA,
  '42P01': NO_SCHEMA,
  '42883': NO_SCHEMA,
  '42703': NO_SCHEMA,
  '54000': LIMIT_EXCEEDED,
  XX001: DAMAGED,
  XX002: DAMAGED,
};

const CLASSES: Readonly<Record<string, Verdict | undefined>> = {
  // A deadlock or a conflict: rolled back, and may pass at the next attempt.
  '40': NOT_NOW,
  // The memory or the disk is full, maybe in the middle of the commit.
  '53': ['UNAVAILABLE', 'unknown'],
  // The server ends the connection, and may have committed before.
  '57': ['UNAVAILABLE', 'unknown'],
  // An error of the system, such as a failed flush of the log, or of the server itself.
  '58': ['UNAVAILABLE', 'unknown'],
  XX: ['UNAVAILABLE', 'unknown'],
  // An error of the connection, also of a pooler between this process and the server.
  '08': ['CONNECTION_LOST', 'unknown'],
};
