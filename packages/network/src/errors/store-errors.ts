/** The store errors that every network adapter raises. */

import type { Change, Key, LeaseId, StoreCapabilities } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';

import type { CommonFailure } from '../calls/exchange-error.ts';
import { describeError, errorCode, isDistrust, judgeSocket, type Verdict } from './verdict.ts';

/** The verdict on an error that nobody foresaw: it may have come at any moment of the call. */
export const UNFORESEEN: Verdict = ['STORE_FAILED', 'unknown'];

/**
 * The verdicts of an adapter: those of `judge` on its own `ExchangeError`, and {@link UNFORESEEN}
 * on every other error.
 */
export function verdictsOf<E extends Error>(
  ExchangeError: abstract new (...args: never[]) => E,
  judge: (error: E) => Verdict,
): (error: unknown) => Verdict {
  return (error) => (error instanceof ExchangeError ? judge(error) : UNFORESEEN);
}

/** The verdict on the failures that every protocol has. */
export function judgeCommon(failure: CommonFailure): Verdict {
  switch (failure.kind) {
    case 'cut':
      // The request may have been applied before the connection ended.
      return ['CONNECTION_LOST', 'unknown'];
    case 'timeout':
      return failure.sent ? ['TIMEOUT', 'unknown'] : ['UNREACHABLE', 'notSent'];
    case 'closed':
      return ['STORE_CLOSED', failure.sent ? 'unknown' : 'notSent'];
    case 'malformed':
      // The server answered, so the request may have been applied.
      return ['STORE_FAILED', 'unknown'];
    default:
      return failure satisfies never;
  }
}

/** The failures of a request over HTTP that got no response. */
export type HttpFailure =
  /** `cut` includes a response that is not HTTP. */
  | CommonFailure
  /** There was no connection, so nothing was sent. */
  | { readonly kind: 'notConnected' };

/** The verdict on a request over HTTP. `cause` is the error of Node's HTTP client. */
export function judgeHttp(failure: HttpFailure, cause: unknown): Verdict {
  if (failure.kind === 'notConnected') return judgeSocket(cause);
  if (failure.kind === 'cut') {
    // In TLS 1.3, a client learns only after its first request that its certificate was rejected.
    // The server does not read the request.
    if (isDistrust(cause)) return ['UNAUTHENTICATED', 'refused'];
    // Node's parser: the response is not HTTP.
    if (errorCode(cause).startsWith('HPE_')) return ['UNSUPPORTED', 'unknown'];
  }
  return judgeCommon(failure);
}

/**
 * The store error for whatever a call ran into. `what` begins the message and names the store and
 * the call: `redis renewLease`. A `StoreError` is returned as it is.
 */
export function storeErrorOf(error: unknown, what: string, verdictOn: (error: unknown) => Verdict): StoreError {
  if (error instanceof StoreError) return error;
  const [code, outcome, why] = verdictOn(error);
  const message = `${what}: ${describeError(error)}`;
  return new StoreError(code, outcome, why === undefined ? message : `${message}; ${why}`, { cause: error });
}

/**
 * Of the errors of several servers, the error after which a retry is most likely to succeed:
 * `UNAVAILABLE` before `UNREACHABLE` before any other. Reporting it keeps one bad server from
 * ending the retries.
 */
export function mildestOf(errors: readonly unknown[], verdictOn: (error: unknown) => Verdict): unknown {
  const rankOf = (error: unknown): number => {
    const [code] = verdictOn(error);
    if (code === 'UNAVAILABLE') return 0;
    return code === 'UNREACHABLE' ? 1 : 2;
  };
  return errors.toSorted((a, b) => rankOf(a) - rankOf(b))[0];
}

/**
 * Whether a watch ends at this error, because a retry would meet the same one: missing permission,
 * wrong credentials, or a closed store. A watch retries after every other error.
 */
export function endsWatch(error: unknown): boolean {
  return error instanceof StoreError && ['PERMISSION_DENIED', 'UNAUTHENTICATED', 'STORE_CLOSED'].includes(error.code);
}

/** For a call on a store that was closed before the call. Nothing was sent. */
export function storeClosed(store: string): StoreError {
  return new StoreError('STORE_CLOSED', 'notSent', `${store}: the store was closed`);
}

/**
 * For a call that failed while the store was being closed: the close is the reason to report. Keeps
 * whether the call may have been applied: `refused` becomes `notSent`. `what` names the store and
 * the call.
 */
export function closedMeanwhile({ outcome, cause }: StoreError, what: string): StoreError {
  return new StoreError('STORE_CLOSED', outcome === 'refused' ? 'notSent' : outcome, `${what}: the store was closed`, { cause });
}

/** For a lease that the store certainly does not have. */
export function leaseGone(store: string, lease: LeaseId): StoreError {
  return new StoreError('LEASE_EXPIRED', 'refused', `${store}: there is no lease ${lease}: it has expired, or was revoked`);
}

/** For an `enqueue` whose key the store has already, under another lease. */
export function keyTaken(store: string, key: Key): StoreError {
  return new StoreError('STORE_FAILED', 'refused', `${store}: the entry ${key} exists already, under another lease`);
}

/** For a request beyond the store's limits, which was not sent. */
export function tooLarge(store: string, message: string): StoreError {
  return new StoreError('TOO_LARGE', 'refused', `${store}: ${message}`);
}

interface Limits {
  readonly name: string;
  readonly capabilities: Pick<StoreCapabilities, 'maxChanges' | 'maxValueBytes'>;
}

/** @throws `TOO_LARGE` for more changes, or a longer value, than the store's capabilities allow. */
export function checkSwapSize(store: Limits, changes: readonly Change[]): void {
  const { maxChanges } = store.capabilities;
  if (changes.length > maxChanges)
    throw tooLarge(store.name, `${changes.length} changes are more than the ${maxChanges} that one swap may have`);
  for (const change of changes) if ('put' in change) checkValueSize(store, change.put, change.key);
}

/** @throws `TOO_LARGE` for a value that is longer than the store's capabilities allow. */
export function checkValueSize({ name, capabilities: { maxValueBytes } }: Limits, value: Uint8Array, key: Key): void {
  if (value.length > maxValueBytes)
    throw tooLarge(name, `a value of ${value.length} bytes for the key ${key} is longer than ${maxValueBytes}`);
}
