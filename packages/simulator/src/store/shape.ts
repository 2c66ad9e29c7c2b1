/** What kind of store a world has, as data. */

import type { Key } from '@incumbent/core';
import type { LatencyRange } from '../network/link.ts';

/** The calls of the contract that ask once and are answered once. */
export type StoreOperation = 'grantLease' | 'renewLease' | 'revokeLease' | 'compareAndSwap' | 'enqueue' | 'read' | 'list';

/** What a request asks of the store, as far as whoever counts requests cares. */
export interface RequestInfo {
  readonly operation: StoreOperation;
  /** The key, the first of several, or the prefix of a list. */
  readonly about?: Key;
  /** A list of all that is there, not of the few before one. */
  readonly whole?: boolean;
}

export const WRITES: readonly StoreOperation[] = ['grantLease', 'renewLease', 'revokeLease', 'compareAndSwap', 'enqueue'];

export interface StoreShape {
  /** A key can be bound to another's lease: a handover is one swap. */
  readonly assignableLease: boolean;
  /** False: a key that is deleted and made again begins at its first revision. */
  readonly revisionsSurviveDeletion: boolean;
  /** A lease goes up to so many ms after its end. */
  readonly expiryLateMs: number;
  /** How fast the store's clock goes. */
  readonly rate: number;
  /**
   * What the acknowledgement of a renewal proves. `renewal`: that this renewal counts. `previous`:
   * only that the one before it counts, and the client says so in `validFrom`.
   * `previousUndeclared`: the same, but the client does not say so, as an adapter with a bug would.
   */
  readonly acknowledges: 'renewal' | 'previous' | 'previousUndeclared';
  /** Each message, each way. */
  readonly latency: LatencyRange;
  /** A notification leaves the store up to so many ms late; changes meanwhile coalesce. */
  readonly watchLagMs: number;
  /** This part of the notifications is followed by the state before it, and by the latest once more. From 0 to 1. */
  readonly repeatRatio: number;
  /** How many keys a member should bind to one lease; it opens further ones. 100,000 if left out. */
  readonly keysPerLease?: number;
  /** How many servers are behind the one address that clients know; one if left out. */
  readonly servers?: number;
  /** Said of the store to those who use it: it may end a live lease. */
  readonly endsEarly?: string;
}
