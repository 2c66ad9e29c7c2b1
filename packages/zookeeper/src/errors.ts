/**
 * How exchanges with a server fail, and what a failure means. This file alone maps the errors of
 * ZooKeeper, TLS and sockets to codes and outcomes; the reason stands beside each. An outcome is
 * `refused` or `notSent` only if that is certain. Everything else is `unknown`.
 */

import type { LeaseId } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';
import {
  closedMeanwhile,
  type CommonFailure,
  FailedExchange,
  judgeCommon,
  judgeSocket,
  leaseGone,
  mildestOf as mildestBy,
  type MissingPermission,
  storeErrorOf,
  UNFORESEEN,
  type Verdict,
  verdictsOf,
} from '@incumbent/network';

import { Code, codeName, type CodeName } from './protocol/codes.ts';

/** Why there is no connection. Nothing was sent to the server except what opens a session. */
export type NotConnectedReason =
  /**
   * No byte stream opened, or it ended before the server answered. The cause is the error of the
   * system or of TLS.
   */
  | 'unreachable'
  /** The server accepted the connection, and did not answer in time. */
  | 'silent'
  /** The server is not ZooKeeper. */
  | 'foreign'
  /**
   * The server closed the connection without an answer. A server does that if it is read-only, has
   * no quorum, or is behind what this client has seen.
   */
  | 'turnedAway'
  /** The server has lost its quorum and would serve reads only. */
  | 'readOnly'
  /** The server does not accept an identity of this client. */
  | 'authFailed';

export type Failure =
  | CommonFailure
  | { readonly kind: 'notConnected'; readonly why: NotConnectedReason }
  /** The server answered with a code other than OK. */
  | { readonly kind: 'code'; readonly code: number }
  /**
   * The session is over, and this request was not sent. `server`: a server said so, and everything
   * that lived by the session is gone. `clock`: no server was reached for the session's timeout, so
   * the client gave it up; servers that were down themselves may keep it for longer.
   */
  | { readonly kind: 'expired'; readonly by: 'server' | 'clock' }
  /** The request is longer than any server accepts, and was not sent. */
  | { readonly kind: 'tooLarge' };

/** What failed in an exchange with a server, before {@link toStoreError} decides what it means. */
export class ExchangeError extends FailedExchange<Failure> {}

export function answeredWith(code: number): ExchangeError {
  return new ExchangeError({ kind: 'code', code }, `the server answered ${codeName(code)}`);
}

export function notConnected(why: NotConnectedReason, message: string, cause?: unknown): ExchangeError {
  return new ExchangeError({ kind: 'notConnected', why }, message, cause);
}

export function closedSession(sent: boolean): ExchangeError {
  return new ExchangeError({ kind: 'closed', sent }, 'the session was closed');
}

/** Whether a server answered with one of these codes. */
export function isCode(error: unknown, ...names: readonly CodeName[]): error is ExchangeError {
  if (!(error instanceof ExchangeError) || error.failure.kind !== 'code') return false;
  const { code } = error.failure;
  return names.some((name) => Code[name] === code);
}

/** Settles as `call` does, but with undefined if a server answered `NONODE`. */
export async function unlessAbsent<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isCode(error, 'NONODE')) return undefined;
    throw error;
  }
}

const verdictOn = verdictsOf(ExchangeError, judge);

/** The error to throw for whatever a call ran into. `what` names the call in the message. */
export function toStoreError(error: unknown, what: string): StoreError {
  return storeErrorOf(error, `zookeeper ${what}`, verdictOn);
}

export type Right = 'read' | 'create, write and delete';

/**
 * What the user lacks for a call on these paths. ZooKeeper does not say which right is missing, and
 * does not report a wrong password: it grants no rights then. Only owners may change the rights:
 * the creator of the namespace, and for the nodes below it the users whose stores created them.
 */
export function missingOn(right: Right, paths: readonly string[], { root, auths }: Identity): MissingPermission {
  const grant = `in zkCli.sh, addauth digest OWNER:PASSWORD for every owner of these nodes, then setAcl -R ${root} ${GRANTED}`;
  return { right, keys: paths, grant: `${grant} (${likelyCause(auths)})` };
}

/** What the user lacks to create the namespace. */
export function missingToCreate({ root, auths }: Identity): MissingPermission {
  const grant = `in zkCli.sh, addauth digest ADMIN:PASSWORD for a user who may create it, then create ${root} "" ${GRANTED}`;
  return { right: 'create', keys: [root], grant: `${grant} (${likelyCause(auths)})` };
}

/**
 * The ACL that an administrator sets. `auth` stands for the users of all `addauth` commands, who
 * keep the right to change the ACL. The user of the store does not need that right. ZooKeeper
 * identifies the user by a hash.
 */
const GRANTED =
  'auth::cdrwa,digest:USER:HASH:cdrw, where HASH is the output of printf %s USER:PASSWORD | openssl dgst -sha1 -binary | openssl base64';

function likelyCause(auths: readonly object[]): string {
  return auths.length === 0 ? 'the store was opened without credentials' : 'with a wrong password, a user has no rights';
}

/** The namespace, and as whom the store asks for its nodes. */
interface Identity {
  readonly root: string;
  readonly auths: readonly object[];
}

/** Of the errors of several servers, the one that a retry is most likely to pass. */
export function mildestOf(errors: readonly unknown[]): unknown {
  return mildestBy(errors, verdictOn);
}

function judge({ failure, cause }: ExchangeError): Verdict {
  switch (failure.kind) {
    case 'notConnected':
      return judgeConnection(failure.why, cause);
    case 'expired':
      // After `clock` the session may be alive, on servers that were down themselves.
      return failure.by === 'server' ? ['LEASE_EXPIRED', 'refused'] : ['UNREACHABLE', 'notSent'];
    case 'tooLarge':
      return ['TOO_LARGE', 'refused'];
    case 'code':
      return judgeCode(failure.code);
    default:
      return judgeCommon(failure);
  }
}

// No request is sent before there is a session.
function judgeConnection(why: NotConnectedReason, cause: unknown): Verdict {
  switch (why) {
    case 'unreachable':
      return judgeSocket(cause);
    case 'silent':
      return ['UNREACHABLE', 'notSent'];
    case 'turnedAway':
    case 'readOnly':
      // The server serves again when it has found its ensemble.
      return ['UNAVAILABLE', 'notSent'];
    case 'foreign':
      return ['UNSUPPORTED', 'refused'];
    case 'authFailed':
      return ['UNAUTHENTICATED', 'refused'];
    default:
      return why satisfies never;
  }
}

function judgeCode(code: number): Verdict {
  switch (code) {
    case Code.NONODE:
    case Code.BADVERSION:
    case Code.NODEEXISTS:
    case Code.NOTEMPTY:
    case Code.NOCHILDRENFOREPHEMERALS:
    case Code.BADARGUMENTS:
    case Code.INVALIDACL:
    case Code.EPHEMERALONLOCALSESSION:
    case Code.NOWATCHER:
      // The server checks these before the request becomes a transaction.
      return ['STORE_FAILED', 'refused'];
    case Code.NOAUTH:
      return ['PERMISSION_DENIED', 'refused'];
    case Code.AUTHFAILED:
    case Code.SESSIONCLOSEDREQUIRESASLAUTH:
      // The server checks these before the request itself.
      return ['UNAUTHENTICATED', 'refused'];
    case Code.SESSIONEXPIRED:
      // The ensemble's leader checks this before the request becomes a transaction.
      return ['LEASE_EXPIRED', 'refused'];
    case Code.QUOTAEXCEEDED:
      return ['TOO_LARGE', 'refused'];
    case Code.UNIMPLEMENTED:
      return ['UNSUPPORTED', 'refused'];
    case Code.SESSIONMOVED:
      // The session has moved to another connection. The server ignores requests of this one.
      return ['CONNECTION_LOST', 'notSent'];
    case Code.THROTTLEDOP:
    case Code.NOTREADONLY:
      // An overloaded server, or one without a quorum, refuses the request before anything else.
      return ['UNAVAILABLE', 'notSent'];
    case Code.CONNECTIONLOSS:
    case Code.OPERATIONTIMEOUT:
    case Code.REQUESTTIMEOUT:
    case Code.NEWCONFIGNOQUORUM:
      // The server lost the ensemble's leader, or got no answer from it. The leader may have the
      // request.
      return ['UNAVAILABLE', 'unknown'];
    default:
      // Among these are `SYSTEMERROR` and `MARSHALLINGERROR`, with which a server also answers when
      // it fails after it has applied the request.
      return UNFORESEEN;
  }
}

/**
 * A grant opens a session, and every connection attempt asks for one. If no connection lasted, a
 * server may have opened a session whose answer was lost. The outcome of a failed grant is
 * therefore unknown.
 */
export function grantOfUnknownOutcome(error: unknown): unknown {
  if (!(error instanceof StoreError) || (error.code !== 'UNREACHABLE' && error.code !== 'UNAVAILABLE')) return error;
  return new StoreError(error.code, 'unknown', error.message, { cause: error.cause });
}

/**
 * For a call that names no lease. The session that carried it has expired, which ends no lease of
 * the caller, and another session follows.
 */
export function notOfOneLease(error: unknown): unknown {
  if (!(error instanceof StoreError) || error.code !== 'LEASE_EXPIRED') return error;
  return new StoreError('UNAVAILABLE', error.outcome, error.message, { cause: error });
}

/**
 * The error of a call on a session that was closed: the store is closing, or the lease was revoked.
 */
export function closedError(error: ExchangeError, what: string, isStoreClosed: boolean): StoreError {
  const storeError = toStoreError(error, what);
  if (isStoreClosed) return closedMeanwhile(storeError, `zookeeper ${what}`);
  const { failure } = error;
  if (failure.kind !== 'closed') return storeError;
  const outcome = failure.sent ? 'unknown' : 'refused';
  return new StoreError('LEASE_EXPIRED', outcome, `zookeeper ${what}: the lease was revoked`, { cause: error });
}

/**
 * Whether the client gave the session up, because it reached no server for the session's timeout.
 */
export function isGivenUp(error: unknown): boolean {
  return error instanceof ExchangeError && error.failure.kind === 'expired' && error.failure.by === 'clock';
}

/** For a lease that this store certainly does not have. */
export function noSuchLease(lease: LeaseId): StoreError {
  return leaseGone('zookeeper', lease);
}
