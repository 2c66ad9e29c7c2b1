/**
 * What a failed exchange means: the only place where Consul's, TLS's and the socket's errors become codes and outcomes. Each has its reason
 * beside it. `refused` and `notSent` are said where it is certain; whatever is not listed is `unknown`.
 */

import type { LeaseId, StoreErrorCode } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';
import { isDistrust, judgeSocket, type Verdict } from '@incumbent/network';

import { ExchangeError } from './client/failure.ts';

/** The error to throw for whatever a call ran into. `what` names the call, for the message. */
export function toStoreError(error: unknown, what: string): StoreError {
  if (error instanceof StoreError) return error;
  const [code, outcome] = error instanceof ExchangeError ? judge(error) : UNFORESEEN;
  const reason = error instanceof Error ? error.message : String(error);
  return new StoreError(code, outcome, `consul ${what}: ${reason}`, { cause: error });
}

// An error of this adapter or of Node that nobody foresaw may have come at any moment.
const UNFORESEEN: Verdict = ['STORE_FAILED', 'unknown'];

function judge({ failure, cause }: ExchangeError): Verdict {
  switch (failure.kind) {
    case 'notConnected':
      return judgeSocket(cause);
    case 'cut':
      // By TLS 1.3 a client hears only after its first request that its certificate is not good enough; the agent never looks at the request.
      if (isDistrust(cause)) return ['UNAUTHENTICATED', 'refused'];
      // Node's parser: no HTTP.
      if (cause instanceof Error && 'code' in cause && String(cause.code).startsWith('HPE_')) return ['UNSUPPORTED', 'unknown'];
      // The request may have been applied before the connection went.
      return ['CONNECTION_LOST', 'unknown'];
    case 'timeout':
      return failure.sent ? ['TIMEOUT', 'unknown'] : ['UNREACHABLE', 'notSent'];
    case 'closed':
      return ['STORE_CLOSED', failure.sent ? 'unknown' : 'notSent'];
    case 'malformed':
      // It was answered, so it may well have happened.
      return ['STORE_FAILED', 'unknown'];
    case 'status':
      return judgeStatus(failure.status, failure.text);
    default:
      return failure satisfies never;
  }
}

function judgeStatus(status: number, text: string): Verdict {
  // Some versions say it with a status of their own making; it is looked at before anything is done.
  if (/ACL not found|token does not exist/i.test(text)) return ['UNAUTHENTICATED', 'refused'];
  if (/Permission denied/i.test(text)) return ['PERMISSION_DENIED', 'refused'];
  if (status === 403) return ['PERMISSION_DENIED', 'refused'];
  if (status === 413) return ['TOO_LARGE', 'refused'];
  // Turned away for the number of connections or requests, before anything else.
  if (status === 429) return ['UNAVAILABLE', 'notSent'];
  if (status >= 500) return judgeFailure(text);
  // Whatever this is, which no agent says, it may have passed the request on, or given up waiting for what it had passed on.
  if (status < 300 || status === 408 || status === 499) return ['STORE_FAILED', 'unknown'];
  // Agents answer in these cases only; what answers is something else, or an agent that wants TLS.
  return ['UNSUPPORTED', 'refused'];
}

function judgeFailure(text: string): Verdict {
  // The session is looked up in the step that would bind to it.
  if (/invalid session/i.test(text)) return ['LEASE_EXPIRED', 'refused'];
  // Sessions are made of what the catalog has: these are said before one is.
  if (/Missing check |Missing node registration|is in critical state/.test(text)) return ['UNAVAILABLE', 'refused'];
  if (/Invalid Session TTL/.test(text)) return ['STORE_FAILED', 'refused'];
  // `No cluster leader`, a lost leadership, an agent without servers: what was passed on may still be applied.
  return ['UNAVAILABLE', 'unknown'];
}

/** The error of a step that others came before: what they did may be done, whatever becomes of this one. */
export function afterwards(error: unknown, what: string): unknown {
  if (!(error instanceof ExchangeError)) return error;
  const { code, message } = toStoreError(error, what);
  return new StoreError(error.failure.kind === 'timeout' ? 'TIMEOUT' : code, 'unknown', message, { cause: error });
}

/** Whether what was asked for may have been done all the same, now or later. */
export function mayHaveHappened(error: unknown): boolean {
  return !(error instanceof ExchangeError) || judge(error)[1] === 'unknown';
}

/** The servers do not know a check yet, of which the agent has just been told: it tells them by itself. */
export function isCheckUnknown(error: unknown): boolean {
  return error instanceof ExchangeError && error.failure.kind === 'status' && /Missing check /.test(error.failure.text);
}

/** Whether trying again would meet the same. */
export function endsWatch(error: unknown): boolean {
  return error instanceof StoreError && ['PERMISSION_DENIED', 'UNAUTHENTICATED', 'STORE_CLOSED'].includes(error.code);
}

/** What one operation of a transaction was turned away for, where that is no matter of what the keys are. */
export function operationRefused(what: string): StoreError | undefined {
  const [session, lease] = /invalid session(?: "([0-9a-f-]{36})")?/i.exec(what) ?? [];
  if (session !== undefined)
    return new StoreError('LEASE_EXPIRED', 'refused', `consul: ${what}: it has expired, or was ended`, { details: { lease } });
  if (/Permission denied/i.test(what)) return refused('PERMISSION_DENIED', what);
  if (/lock delay/i.test(what)) return refused('UNAVAILABLE', what);
  return undefined;
}

export function refused(code: StoreErrorCode, message: string): StoreError {
  return new StoreError(code, 'refused', `consul: ${message}`);
}

export function leaseGone(lease: LeaseId): StoreError {
  return refused('LEASE_EXPIRED', `there is no session ${lease}: it has expired, or was ended`);
}

export function tooLarge(message: string): StoreError {
  return refused('TOO_LARGE', message);
}

export function storeClosed(): StoreError {
  return new StoreError('STORE_CLOSED', 'notSent', 'consul: the store was closed');
}
