/** Every error of this store, each with its code and its outcome. */

import { StoreError, type Key, type LeaseId } from '@incumbent/core';

export function storeClosed(outcome: 'notSent' | 'unknown'): StoreError {
  return new StoreError('STORE_CLOSED', outcome, 'the store was closed');
}

export function serverClosed(): StoreError {
  return new StoreError('STORE_CLOSED', 'notSent', 'the server was closed');
}

export function connectionRefused(): StoreError {
  return new StoreError('UNREACHABLE', 'notSent', 'the server refuses connections');
}

/** `call` is the name of the call that the reset ended. */
export function connectionReset(call?: string): StoreError {
  return new StoreError('CONNECTION_LOST', 'unknown', `${call === undefined ? '' : `${call}: `}the connection was reset`);
}

export function linkCut(): StoreError {
  return new StoreError('CONNECTION_LOST', 'unknown', 'the link is cut');
}

export function watchMessageLost(): StoreError {
  return new StoreError('CONNECTION_LOST', 'unknown', 'a message of the watch was lost');
}

export function watchesSilent(forMs: number): StoreError {
  return new StoreError('CONNECTION_LOST', 'unknown', `the server has sent the watches nothing for ${forMs} ms`);
}

export function timedOut(call: string, timeoutMs: number): StoreError {
  return new StoreError('TIMEOUT', 'unknown', `${call}: no answer within ${timeoutMs} ms`);
}

export function leaseGone(id: LeaseId): StoreError {
  return new StoreError('LEASE_EXPIRED', 'refused', `there is no lease ${id}`);
}

/** A server with `assignableLease: false` refuses to bind a key to the lease of another client. */
export function leaseOfAnotherClient(id: LeaseId): StoreError {
  return new StoreError('UNSUPPORTED', 'refused', `the lease ${id} is another client's, and this store binds a key only to one's own`);
}

export function keyTaken(key: Key, lease: LeaseId): StoreError {
  return new StoreError('STORE_FAILED', 'refused', `${key} exists, and not under the lease ${lease}`);
}

export function tooLarge(what: string): StoreError {
  return new StoreError('TOO_LARGE', 'refused', what);
}
