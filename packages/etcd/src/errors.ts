/**
 * Maps the errors of etcd, gRPC, HTTP/2 and the socket to codes and outcomes. No other file does.
 * The outcome is `refused` or `notSent` only where that is certain; every error that is not listed
 * is `unknown`.
 */

import { StoreError } from '@incumbent/core/adapter';
import {
  describeError,
  errorCode,
  judgeCommon,
  judgeSocket,
  mildestOf,
  type MissingPermission,
  ofServer,
  storeErrorOf,
  UNFORESEEN,
  type Verdict,
  verdictsOf,
} from '@incumbent/network';

import { ExchangeError, type Failure } from './client/failure.ts';
import type { Namespace } from './namespace.ts';
import { TooLongMessage } from './protocol/protobuf.ts';

/** gRPC's numbers of the statuses that etcd uses. */
const Status = {
  canceled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unimplemented: 12,
  unavailable: 14,
  unauthenticated: 16,
} as const;

const verdictOn = verdictsOf(ExchangeError, judge);

/**
 * The store error for whatever a call ran into. `what` names the call in the message. `sent`:
 * whether a server may have the request.
 */
export function toStoreError(error: unknown, what: string, sent: boolean): StoreError {
  const mapped = storeErrorOf(error, `etcd ${what}`, verdictOn);
  if (sent || mapped.outcome !== 'unknown') return mapped;
  // The unknown outcome is that of the login that this call waited for. The call was not sent.
  return new StoreError(mapped.code, 'notSent', `etcd ${what}: ${describeError(error)}`, { cause: error });
}

/**
 * Whether another member may serve the call that this one failed. That includes every answer that
 * etcd does not give: the address may belong to another server by now. False if no member could be
 * connected to, and for the reason with which a caller aborts its call.
 */
export function blamesMember(error: unknown): boolean {
  if (!(error instanceof ExchangeError)) return false;
  if (error.failure.kind === 'notConnected' || error.failure.kind === 'replaced') return false;
  if (error.failure.kind === 'http') return true;
  // Every member rejects an outdated token, and gives the same long answer.
  if (blamesToken(error) || error.cause instanceof TooLongMessage) return false;
  const [code, outcome] = judge(error);
  if (code === 'STORE_FAILED') return outcome === 'unknown';
  return code === 'UNAVAILABLE' || code === 'CONNECTION_LOST' || code === 'TIMEOUT' || code === 'UNSUPPORTED';
}

/**
 * Of the failures of all members, the one to report: the last after which a retry may succeed. So
 * one wrong address does not end the retries while the other members cannot serve.
 */
export function failureOf(failures: readonly unknown[]): unknown {
  return failures.findLast((error) => verdictOn(error)[0] !== 'UNSUPPORTED') ?? failures.at(-1);
}

/**
 * Whether the server rejected the request because of its token: the token is missing, has expired,
 * or was issued before the server restarted. The server did not execute the request then: it checks
 * the token before anything else, and once more just before it applies a write.
 */
export function blamesToken(error: unknown): boolean {
  if (!(error instanceof ExchangeError) || error.failure.kind !== 'status') return false;
  const { status, reason } = error.failure;
  return status === Status.unauthenticated || isTokenReason(reason);
}

/**
 * Whether etcd denied the request: the user has no permission, or the token is not valid. etcd
 * denies a linearizable read only after the member has caught up with the cluster.
 */
export function isDenied(error: unknown): boolean {
  if (!(error instanceof ExchangeError) || error.failure.kind !== 'status') return false;
  return error.failure.status === Status.permissionDenied || blamesToken(error);
}

function isTokenReason(reason: string): boolean {
  return /invalid auth token|revision of auth store is old|user name is empty/.test(reason);
}

/** The error of a watch that the server ended or did not create. etcd gives the reason as text. */
export function watchCanceled(reason: string, compactRevision: bigint): ExchangeError {
  const words = reason === '' && compactRevision > 0n ? `compacted up to revision ${compactRevision}` : reason;
  const why = words === '' ? ' without a reason' : `: ${words}`;
  return new ExchangeError({ kind: 'status', status: watchStatus(words), reason: words }, `the server ended the watch${why}`);
}

/** The status with which etcd answers a call for the same reason. */
function watchStatus(reason: string): number {
  if (isTokenReason(reason)) return Status.invalidArgument;
  return /permission denied/.test(reason) ? Status.permissionDenied : Status.unavailable;
}

const AUTH_DISABLED = /authentication is not enabled/;

/** Whether a login failed because the server has no users. Requests then need no token. */
export function isAuthDisabled(error: unknown): boolean {
  return error instanceof ExchangeError && error.failure.kind === 'status' && AUTH_DISABLED.test(error.failure.reason);
}

/**
 * One error for all members that could not be connected to. The only address of a store is tried
 * twice, and failures of the same kind are named once.
 */
export function notConnected(failures: readonly (readonly [member: string, error: unknown])[]): ExchangeError {
  const message = [...new Set(failures.map(([member, error]) => ofServer(member, describeError(error))))].join('; ');
  const errors = failures.map(([, error]) => error);
  const mildest = mildestOf(errors, verdictOn);
  return new ExchangeError({ kind: 'notConnected' }, message, mildest instanceof ExchangeError ? mildest.cause : mildest);
}

function judge({ failure, cause }: ExchangeError): Verdict {
  switch (failure.kind) {
    case 'notConnected':
      return judgeConnection(cause);
    case 'streamRefused':
      // HTTP/2 guarantees that a refused stream was not processed. A server refuses streams while
      // it shuts down, or when it has too many.
      return ['UNAVAILABLE', 'notSent'];
    case 'replaced':
      return ['CONNECTION_LOST', 'unknown'];
    case 'http':
      return judgeHttp(failure.httpStatus);
    case 'status':
      return judgeStatus(failure);
    default:
      return judgeCommon(failure);
  }
}

function judgeConnection(cause: unknown): Verdict {
  return isNotHttp2(cause) ? ['UNSUPPORTED', 'refused'] : judgeSocket(cause);
}

/** Whether a connection failed because the server does not speak HTTP/2, or requires TLS. */
export function isNotHttp2(cause: unknown): boolean {
  return /^ERR_HTTP2_(SESSION_)?ERROR$|NO_APPLICATION_PROTOCOL/.test(errorCode(cause));
}

/**
 * As gRPC maps them. No etcd answers like this. A proxy that fails, that succeeds in another
 * protocol, or that gives up waiting (408, 499) may have forwarded the request before.
 */
function judgeHttp(httpStatus: number): Verdict {
  if (httpStatus === 401) return ['UNAUTHENTICATED', 'refused'];
  if (httpStatus === 403) return ['PERMISSION_DENIED', 'refused'];
  if ([429, 502, 503, 504].includes(httpStatus)) return ['UNAVAILABLE', 'unknown'];
  const mayBeForwarded = httpStatus >= 500 || httpStatus < 300 || httpStatus === 408 || httpStatus === 499;
  return ['UNSUPPORTED', mayBeForwarded ? 'unknown' : 'refused'];
}

function judgeStatus({ status, reason }: Extract<Failure, { readonly kind: 'status' }>): Verdict {
  switch (status) {
    case Status.invalidArgument:
      return judgeArgument(reason);
    case Status.notFound:
      // etcd checks the lease before a transaction writes anything.
      return /requested lease not found/.test(reason) ? ['LEASE_EXPIRED', 'refused'] : UNFORESEEN;
    case Status.permissionDenied:
      // etcd checks all parts of a transaction before it applies any of them.
      return ['PERMISSION_DENIED', 'refused'];
    case Status.resourceExhausted:
      return judgeExhaustion(reason);
    case Status.failedPrecondition:
      // A learner rejects requests that it may not serve before it processes them.
      if (/not supported for learner/.test(reason)) return ['UNAVAILABLE', 'notSent'];
      return AUTH_DISABLED.test(reason) ? ['STORE_FAILED', 'refused'] : UNFORESEEN;
    case Status.unimplemented:
      return ['UNSUPPORTED', 'refused'];
    case Status.unauthenticated:
      return ['UNAUTHENTICATED', 'refused'];
    case Status.unavailable:
    case Status.canceled:
      // The cluster has no leader or its leader changed, or the server stops or waited too long.
      // The proposal may still be applied.
      return ['UNAVAILABLE', 'unknown'];
    case Status.deadlineExceeded:
      return ['TIMEOUT', 'unknown'];
    default:
      // A follower forwarded a renewal to a member that no longer leads the cluster. The status is
      // "unknown".
      return /not a primary lessor/.test(reason) ? ['UNAVAILABLE', 'unknown'] : UNFORESEEN;
  }
}

/**
 * etcd checks the request itself before it proposes it to the cluster, and checks the token also
 * just before it applies the request.
 */
function judgeArgument(reason: string): Verdict {
  if (/request is too large|too many operations/.test(reason)) return ['TOO_LARGE', 'refused'];
  // While an administrator changes users or roles, even a new token can be outdated on arrival.
  if (/revision of auth store is old/.test(reason)) return ['UNAVAILABLE', 'notSent'];
  if (/user name is empty/.test(reason))
    return ['UNAUTHENTICATED', 'refused', 'the server requires a user and a password, and the store was opened without credentials'];
  if (/authentication failed/.test(reason)) return ['UNAUTHENTICATED', 'refused', 'the user name or the password is wrong'];
  if (isTokenReason(reason)) return ['UNAUTHENTICATED', 'refused'];
  return ['STORE_FAILED', 'refused'];
}

function judgeExhaustion(reason: string): Verdict {
  // gRPC's own limit on a message, which is far above etcd's.
  if (/larger than max/.test(reason)) return ['TOO_LARGE', 'refused'];
  // The cluster lags behind its log. etcd checks this before it proposes the request.
  if (/too many requests/.test(reason)) return ['UNAVAILABLE', 'notSent'];
  // Among these is "database space exceeded": the write that exceeds the limit gets this answer
  // although etcd has applied it.
  return ['UNAVAILABLE', 'unknown'];
}

/**
 * What the user needs for a call that etcd denied: the right, in the words of etcd's roles. etcd
 * does not say which key or which part of the right is missing.
 */
export function missingRight(right: 'read' | 'readwrite', keys: readonly string[], { prefix }: Namespace): MissingPermission {
  return { right, keys, grant: `etcdctl role grant-permission ROLE readwrite --prefix=true ${prefix} (ROLE: a role of the user)` };
}

/** The error of an answer to a transaction that says nothing of one of its operations. */
export function partMissing(): StoreError {
  return new StoreError('STORE_FAILED', 'unknown', 'etcd Txn: the answer lacks a part');
}
