/**
 * What a failed exchange means: the only place where etcd's, gRPC's, HTTP/2's and the socket's errors become codes and outcomes. Each has its
 * reason beside it. `refused` and `notSent` are said where it is certain; whatever is not listed is `unknown`.
 */

import type { Outcome } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';
import { errorCode, judgeSocket, type Verdict } from '@incumbent/network';

import { ExchangeError, type Failure } from './client/exchange-error.ts';

/** gRPC's numbers for the statuses that etcd uses. */
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

/** The error to throw for whatever a call ran into. `what` names the call, for the message; `sent`: whether a server may have it. */
export function toStoreError(error: unknown, what: string, sent: boolean): StoreError {
  if (error instanceof StoreError && (sent || error.outcome !== 'unknown')) return error;
  const [code, outcome] = error instanceof StoreError ? [error.code, error.outcome] : verdictOn(error);
  // A call can run into the unknown end of another one, the login that it waited for; it was not sent itself.
  const certain = outcome === 'unknown' && !sent ? 'notSent' : outcome;
  const reason = error instanceof Error ? error.message : String(error);
  return new StoreError(code, certain, `etcd ${what}: ${reason}`, { cause: error });
}

/** Whether a watch can go on after it: a server that is away comes back, but nobody else's permission does. */
export function endsWatch(error: unknown): boolean {
  return error instanceof StoreError && ['PERMISSION_DENIED', 'UNAUTHENTICATED', 'STORE_CLOSED'].includes(error.code);
}

export function storeClosed(outcome: Outcome): StoreError {
  return new StoreError('STORE_CLOSED', outcome, 'the etcd store was closed');
}

/** Whether the member that answered, or did not, is to blame, so that another may do better. */
export function blamesMember(error: unknown): boolean {
  const [code] = verdictOn(error);
  return code === 'UNAVAILABLE' || code === 'CONNECTION_LOST' || code === 'TIMEOUT';
}

/**
 * Whether the server turned the request away because of its token: that had expired, was of another life of the server, or was missing.
 * It did nothing then, for a token is looked at before anything else (and once more, with the same end, just before a write is applied).
 */
export function blamesToken(error: unknown): boolean {
  if (!(error instanceof ExchangeError) || error.failure.kind !== 'status') return false;
  const { status, reason } = error.failure;
  return status === Status.unauthenticated || isTokenReason(reason);
}

function isTokenReason(reason: string): boolean {
  return /invalid auth token|revision of auth store is old|user name is empty/.test(reason);
}

/** Why the server ended one watch, or did not make it: it says so in words only. */
export function watchCanceled(reason: string, compactRevision: bigint): ExchangeError {
  const words = reason === '' && compactRevision > 0n ? `compacted up to revision ${compactRevision}` : reason;
  return new ExchangeError({ kind: 'status', status: watchStatus(words), reason: words }, `the server ended the watch: ${words}`);
}

function watchStatus(reason: string): number {
  if (isTokenReason(reason)) return Status.unauthenticated;
  return /permission denied/.test(reason) ? Status.permissionDenied : Status.unavailable;
}

/** A server without users answers so to a login: then no token is needed. */
export function isAuthDisabled(error: unknown): boolean {
  return error instanceof ExchangeError && error.failure.kind === 'status' && /authentication is not enabled/.test(error.failure.reason);
}

/** One error for members that could not be connected to: the one that gives most hope, so that a single bad one does not end a retry. */
export function notConnected(failures: readonly (readonly [member: string, error: unknown])[]): ExchangeError {
  const message = failures.map(([member, error]) => `${member}: ${error instanceof Error ? error.message : String(error)}`).join('; ');
  const [mildest] = failures.map(([, error]) => error).toSorted((a, b) => hopelessness(a) - hopelessness(b));
  return new ExchangeError({ kind: 'notConnected' }, message, mildest instanceof ExchangeError ? mildest.cause : mildest);
}

function hopelessness(error: unknown): number {
  const [code] = verdictOn(error);
  return code === 'UNREACHABLE' ? 0 : 1;
}

// An error of this adapter or of Node that nobody foresaw may have come at any moment.
const UNFORESEEN: Verdict = ['STORE_FAILED', 'unknown'];

function verdictOn(error: unknown): Verdict {
  return error instanceof ExchangeError ? judge(error) : UNFORESEEN;
}

function judge({ failure, cause }: ExchangeError): Verdict {
  switch (failure.kind) {
    case 'notConnected':
      return judgeConnection(cause);
    case 'streamRefused':
      // HTTP/2 promises that a refused stream was not processed; a server does it as it shuts down, or has too many.
      return ['UNAVAILABLE', 'notSent'];
    case 'cut':
      // The request may have been applied before the connection went.
      return ['CONNECTION_LOST', 'unknown'];
    case 'timeout':
      return failure.sent ? ['TIMEOUT', 'unknown'] : ['UNREACHABLE', 'notSent'];
    case 'closed':
      return ['STORE_CLOSED', failure.sent ? 'unknown' : 'notSent'];
    case 'http':
      return judgeHttp(failure.httpStatus);
    case 'malformed':
      // It was answered, so it may well have happened.
      return ['STORE_FAILED', 'unknown'];
    case 'status':
      return judgeStatus(failure);
    default:
      return failure satisfies never;
  }
}

function judgeConnection(cause: unknown): Verdict {
  // What answers speaks no HTTP/2, or wants TLS.
  if (/^ERR_HTTP2_(SESSION_)?ERROR$|NO_APPLICATION_PROTOCOL/.test(errorCode(cause))) return ['UNSUPPORTED', 'refused'];
  return judgeSocket(cause);
}

// As gRPC maps them. A proxy that answers 5xx may have passed the request on before.
function judgeHttp(httpStatus: number): Verdict {
  if (httpStatus === 401) return ['UNAUTHENTICATED', 'refused'];
  if (httpStatus === 403) return ['PERMISSION_DENIED', 'refused'];
  if ([429, 502, 503, 504].includes(httpStatus)) return ['UNAVAILABLE', 'unknown'];
  return ['UNSUPPORTED', httpStatus >= 500 ? 'unknown' : 'refused'];
}

function judgeStatus({ status, reason }: Failure & { readonly kind: 'status' }): Verdict {
  switch (status) {
    case Status.invalidArgument:
      return judgeArgument(reason);
    case Status.notFound:
      // Checked before a transaction writes anything: none of it happened.
      return /requested lease not found/.test(reason) ? ['LEASE_EXPIRED', 'refused'] : UNFORESEEN;
    case Status.permissionDenied:
      // Checked for all parts of a transaction before any of them is applied.
      return ['PERMISSION_DENIED', 'refused'];
    case Status.resourceExhausted:
      return judgeExhaustion(reason);
    case Status.failedPrecondition:
      // A learner turns away what it may not serve before it looks at it.
      return /not supported for learner/.test(reason) ? ['UNAVAILABLE', 'notSent'] : UNFORESEEN;
    case Status.unimplemented:
      return ['UNSUPPORTED', 'refused'];
    case Status.unauthenticated:
      return ['UNAUTHENTICATED', 'refused'];
    case Status.unavailable:
    case Status.canceled:
      // No leader, a leader that changed, a server that stops or waited too long: the proposal may be on its way through the log.
      return ['UNAVAILABLE', 'unknown'];
    case Status.deadlineExceeded:
      return ['TIMEOUT', 'unknown'];
    default:
      // A follower that asked a member which is no longer the leader to renew a lease says so with the status "unknown".
      return /not a primary lessor/.test(reason) ? ['UNAVAILABLE', 'unknown'] : UNFORESEEN;
  }
}

// All of these are found in the request itself, before it is proposed to the cluster; a stale token also just before it is applied.
function judgeArgument(reason: string): Verdict {
  if (/request is too large|too many operations/.test(reason)) return ['TOO_LARGE', 'refused'];
  // A new token, too, can be old when it arrives, while somebody changes users and roles.
  if (/revision of auth store is old/.test(reason)) return ['UNAVAILABLE', 'notSent'];
  if (isTokenReason(reason) || /authentication failed/.test(reason)) return ['UNAUTHENTICATED', 'refused'];
  return ['STORE_FAILED', 'refused'];
}

function judgeExhaustion(reason: string): Verdict {
  // gRPC's own limit on a message, far above etcd's.
  if (/larger than max/.test(reason)) return ['TOO_LARGE', 'refused'];
  // Told before proposing, when the cluster lags behind its log.
  if (/too many requests/.test(reason)) return ['UNAVAILABLE', 'notSent'];
  // "database space exceeded" among them, which the write that crosses the limit gets although it was applied.
  return ['UNAVAILABLE', 'unknown'];
}
