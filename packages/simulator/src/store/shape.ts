/** The properties of a world's store, as data. */

import type { Key } from '@incumbent/core';
import type { LatencyRange } from '../network/link.ts';

/** The calls of the store contract that have one request and one answer. */
export type StoreOperation = 'grantLease' | 'renewLease' | 'revokeLease' | 'compareAndSwap' | 'enqueue' | 'read' | 'list';

/** What a request asks of the store, as far as checkers count requests. */
export interface RequestInfo {
  readonly operation: StoreOperation;
  /** The key, the first of several keys, or the prefix of a list. */
  readonly about?: Key;
  /** Whether a list covers everything under the prefix, not only the few entries before one. */
  readonly whole?: boolean;
}

export const WRITES: readonly StoreOperation[] = ['grantLease', 'renewLease', 'revokeLease', 'compareAndSwap', 'enqueue'];
export const operations: readonly StoreOperation[] = [...WRITES, 'read', 'list'];

/** The properties of a simulated store. */
export interface StoreShape {
  /** Whether a key can be bound to another client's lease, so that a handover is one swap. */
  readonly assignableLease: boolean;
  /** If false, a key that is deleted and created again begins at its first revision. */
  readonly revisionsSurviveDeletion: boolean;
  /**
   * Whether all keys of one swap get the same revision. Only if revisions survive deletion. Default
   * false.
   */
  readonly swapSharesRevision?: boolean;
  /** Whether `enqueue` also reads what it is asked to read. Default false. */
  readonly looks?: boolean;
  /** A lease ends up to this many ms late. */
  readonly expiryLateMs: number;
  /** The rate of the store's clock. */
  readonly rate: number;
  /**
   * What the acknowledgement of a renewal proves. `renewal`: the renewal itself. `previous`: only
   * the renewal before it, which the client declares (`validFrom`). `previousUndeclared`: the same,
   * but the client does not declare it, like an adapter with a bug.
   */
  readonly acknowledges: 'renewal' | 'previous' | 'previousUndeclared';
  /** The latency of each message, one way. */
  readonly latency: LatencyRange;
  /**
   * A notification leaves the store up to this many ms late. Changes meanwhile are merged into it.
   */
  readonly watchLagMs: number;
  /**
   * After this part of the notifications, the watch reports the state before it and the latest
   * state again. From 0 to 1.
   */
  readonly repeatRatio: number;
  /** How many keys a member should bind to one lease before it opens another. Default 100,000. */
  readonly keysPerLease?: number;
  /** How many servers are behind the one address that clients know. Default 1. */
  readonly servers?: number;
  /**
   * The reason that the store's capabilities state for ending live leases early. Absent if it never
   * does.
   */
  readonly endsEarly?: string;
}
