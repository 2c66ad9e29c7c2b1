/**
 * What a failed exchange means: the only place where the errors of Redis, TLS and the socket become codes and outcomes. Each has its reason beside
 * it. `refused` and `notSent` are said where it is certain; whatever is not listed is `unknown`.
 */

import type { LeaseId } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';
import { judgeSocket, type Verdict } from '@incumbent/network';

import { ExchangeError, type Failure } from './client/failure.ts';

/** The error to throw for whatever a call ran into. `what` names the call, for the message. */
export function toStoreError(error: unknown, what: string): StoreError {
  if (error instanceof StoreError) return error;
  const [code, outcome] = verdictOn(error);
  const reason = error instanceof Error ? error.message : String(error);
  return new StoreError(code, outcome, `redis ${what}: ${reason}`, { cause: error });
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
      return judgeConnection(failure, cause);
    case 'answer':
      return judgeAnswer(failure.answer.code, failure.answer.text);
    case 'cut':
      // The request may have been run before the connection went.
      return ['CONNECTION_LOST', 'unknown'];
    case 'timeout':
      return failure.sent ? ['TIMEOUT', 'unknown'] : ['UNREACHABLE', 'notSent'];
    case 'closed':
      return ['STORE_CLOSED', failure.sent ? 'unknown' : 'notSent'];
    case 'malformed':
      // It was answered, so it may well have happened.
      return ['STORE_FAILED', 'unknown'];
    default:
      return failure satisfies never;
  }
}

// No request is sent before there is a connection.
function judgeConnection({ why, answer }: Extract<Failure, { kind: 'notConnected' }>, cause: unknown): Verdict {
  switch (why) {
    case 'unreachable':
      return judgeSocket(cause);
    case 'silent':
      return ['UNREACHABLE', 'notSent'];
    case 'replica':
      // One may be told to take writes at any moment.
      return ['UNAVAILABLE', 'notSent'];
    case 'foreign':
      return ['UNSUPPORTED', 'refused'];
    case 'turnedAway':
      return answer === undefined ? UNFORESEEN : judgeGreeting(answer.code, answer.text);
    default:
      return why satisfies never;
  }
}

/** Answers to what opens a connection, which does nothing else. */
function judgeGreeting(code: string, text: string): Verdict {
  // A password for a server that has none.
  if (/^ERR AUTH\b/.test(text)) return ['UNAUTHENTICATED', 'refused'];
  if (/max number of clients/.test(text)) return ['UNAVAILABLE', 'notSent'];
  // Before version 6 there is no HELLO; and a server's configuration may take it away.
  if (code === 'NOPROTO' || /unknown command/i.test(text)) return ['UNSUPPORTED', 'refused'];
  // Such a server serves its own machine alone.
  if (code === 'DENIED') return ['PERMISSION_DENIED', 'refused'];
  // A database that there is not.
  if (code === 'ERR') return ['UNSUPPORTED', 'refused'];
  return judgeAnswer(code, text);
}

function judgeAnswer(code: string, text: string): Verdict {
  // Raised by what a script ran, not before it began: it may have done something.
  if (/\bscript: [0-9a-f]{40}\b/.test(text)) return [code === 'NOPERM' ? 'PERMISSION_DENIED' : 'STORE_FAILED', 'unknown'];
  switch (code) {
    case 'NOAUTH':
    case 'WRONGPASS':
      return ['UNAUTHENTICATED', 'refused'];
    case 'NOPERM':
      return ['PERMISSION_DENIED', 'refused'];
    case 'LOADING':
    case 'BUSY':
    case 'MASTERDOWN':
    case 'CLUSTERDOWN':
    case 'TRYAGAIN':
      // Turned away before anything else: it reads what it keeps, another script runs, a cluster is not whole.
      return ['UNAVAILABLE', 'notSent'];
    case 'READONLY':
    case 'MOVED':
    case 'ASK':
      // Another server takes the writes now: the next call looks for it.
      return ['UNAVAILABLE', 'notSent'];
    case 'OOM':
    case 'MISCONF':
    case 'NOREPLICAS':
      // Writes are not taken at all while memory is full, the disk fails, or replicas are missing: checked before a script begins.
      return ['UNAVAILABLE', 'refused'];
    default:
      return UNFORESEEN;
  }
}

/** Whether trying again would meet the same. */
export function endsWatch(error: unknown): boolean {
  return error instanceof StoreError && ['PERMISSION_DENIED', 'UNAUTHENTICATED', 'STORE_CLOSED'].includes(error.code);
}

/** Whatever a call runs into while the store is being closed, that is why. */
export function closedMeanwhile(error: unknown, what: string): StoreError {
  const { outcome } = toStoreError(error, what);
  return new StoreError('STORE_CLOSED', outcome === 'refused' ? 'notSent' : outcome, `redis ${what}: the store was closed`, {
    cause: error,
  });
}

export function storeClosed(): StoreError {
  return new StoreError('STORE_CLOSED', 'notSent', 'redis: the store was closed');
}

export function leaseGone(lease: LeaseId): StoreError {
  return new StoreError('LEASE_EXPIRED', 'refused', `redis has no lease ${lease}: it has expired, or was revoked`);
}

export function tooLarge(message: string): StoreError {
  return new StoreError('TOO_LARGE', 'refused', `redis: ${message}`);
}
