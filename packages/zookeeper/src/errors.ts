/**
 * What a failed exchange means: the only place where ZooKeeper's, TLS's and the socket's errors become codes and outcomes. Each has its reason
 * beside it. `refused` and `notSent` are said where it is certain; whatever is not listed is `unknown`.
 */

import { StoreError } from '@incumbent/core/adapter';
import { judgeSocket, type Verdict } from '@incumbent/network';

import { Code } from './protocol/codes.ts';
import { ExchangeError, type NotConnectedReason } from './connection/failure.ts';

/** The error to throw for whatever a call ran into. `what` names the call, for the message. */
export function toStoreError(error: unknown, what: string): StoreError {
  if (error instanceof StoreError) return error;
  const [code, outcome] = verdictOn(error);
  const reason = error instanceof Error ? error.message : String(error);
  return new StoreError(code, outcome, `zookeeper ${what}: ${reason}`, { cause: error });
}

/** Of what several servers did, the one that gives most hope: what passes rather than what stays. */
export function mildestOf(errors: readonly unknown[]): unknown {
  return errors.toSorted((a, b) => hopelessness(a) - hopelessness(b))[0];
}

function hopelessness(error: unknown): number {
  const [code] = verdictOn(error);
  if (code === 'UNAVAILABLE') return 0;
  return code === 'UNREACHABLE' ? 1 : 2;
}

// An error of this adapter or of Node that nobody foresaw may have come at any moment.
const UNFORESEEN: Verdict = ['STORE_FAILED', 'unknown'];

function verdictOn(error: unknown): Verdict {
  return error instanceof ExchangeError ? judge(error) : UNFORESEEN;
}

function judge({ failure, cause }: ExchangeError): Verdict {
  switch (failure.kind) {
    case 'notConnected':
      return judgeConnection(failure.why, cause);
    case 'cut':
      // The request may have been applied before the connection went.
      return ['CONNECTION_LOST', 'unknown'];
    case 'timeout':
      return failure.sent ? ['TIMEOUT', 'unknown'] : ['UNREACHABLE', 'notSent'];
    case 'closed':
      return ['STORE_CLOSED', failure.sent ? 'unknown' : 'notSent'];
    case 'expired':
      // Given up by the clock it may still live, on servers that were away themselves.
      return failure.by === 'server' ? ['LEASE_EXPIRED', 'refused'] : ['UNREACHABLE', 'notSent'];
    case 'malformed':
      // It was answered, so it may well have happened.
      return ['STORE_FAILED', 'unknown'];
    case 'tooLarge':
      return ['TOO_LARGE', 'refused'];
    case 'code':
      return judgeCode(failure.code);
    default:
      return failure satisfies never;
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
      // It serves again when it has found its ensemble.
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
      // Found when the request is prepared, before it becomes a transaction.
      return ['STORE_FAILED', 'refused'];
    case Code.NOAUTH:
      return ['PERMISSION_DENIED', 'refused'];
    case Code.AUTHFAILED:
    case Code.SESSIONCLOSEDREQUIRESASLAUTH:
      // Looked at before the request itself.
      return ['UNAUTHENTICATED', 'refused'];
    case Code.SESSIONEXPIRED:
      // Checked by the leader before it makes a transaction of a request.
      return ['LEASE_EXPIRED', 'refused'];
    case Code.QUOTAEXCEEDED:
      return ['TOO_LARGE', 'refused'];
    case Code.UNIMPLEMENTED:
      return ['UNSUPPORTED', 'refused'];
    case Code.SESSIONMOVED:
      // The session is on another connection meanwhile; this one's requests are not looked at any more.
      return ['CONNECTION_LOST', 'notSent'];
    case Code.THROTTLEDOP:
    case Code.NOTREADONLY:
      // Turned away by an overloaded server, or one without a quorum, before anything else.
      return ['UNAVAILABLE', 'notSent'];
    case Code.CONNECTIONLOSS:
    case Code.OPERATIONTIMEOUT:
    case Code.REQUESTTIMEOUT:
    case Code.NEWCONFIGNOQUORUM:
      // The server lost the ensemble's leader, or waited for it in vain: the proposal may be on its way.
      return ['UNAVAILABLE', 'unknown'];
    default:
      // `SYSTEMERROR` and `MARSHALLINGERROR` among them, which a server also answers when it stumbles over what it has applied.
      return UNFORESEEN;
  }
}

/**
 * Of a grant, which is the opening of a session: that is asked for on every connection that comes about, so where none lasted, a server may have opened one
 * all the same, and its answer be lost.
 */
export function grantInDoubt(error: unknown): unknown {
  if (!(error instanceof StoreError) || (error.code !== 'UNREACHABLE' && error.code !== 'UNAVAILABLE')) return error;
  return new StoreError(error.code, 'unknown', error.message, { cause: error.cause });
}

/** Whether trying again would meet the same. */
export function endsWatch(error: unknown): boolean {
  return error instanceof StoreError && ['PERMISSION_DENIED', 'UNAUTHENTICATED', 'STORE_CLOSED'].includes(error.code);
}

/** Of a call that names no lease: the session that it was made on is over, and the next one takes its place. */
export function notOfOneLease(error: unknown): unknown {
  if (!(error instanceof StoreError) || error.code !== 'LEASE_EXPIRED') return error;
  return new StoreError('UNAVAILABLE', error.outcome, error.message, { cause: error });
}

/** While the store is open, a session is closed because its lease was revoked. */
export function leaseGoneIfClosed(error: ExchangeError, what: string): StoreError {
  const { failure } = error;
  if (failure.kind !== 'closed') return toStoreError(error, what);
  return new StoreError('LEASE_EXPIRED', failure.sent ? 'unknown' : 'refused', `zookeeper ${what}: the lease was revoked`, {
    cause: error,
  });
}

/** Whatever a call runs into while the store is being closed, that is why. */
export function closedMeanwhile(error: ExchangeError, what: string): StoreError {
  const { outcome } = toStoreError(error, what);
  return new StoreError('STORE_CLOSED', outcome === 'refused' ? 'notSent' : outcome, `zookeeper ${what}: the store was closed`, {
    cause: error,
  });
}
