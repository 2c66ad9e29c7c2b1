/**
 * What ends a member's leases when its process dies, as core sees it; `@incumbent/reaper` is one.
 * Without it the store keeps the leases of a dead process until their ttl is over.
 *
 * **Safety.** A lease that is being believed in must not end early. So a reaper revokes only after
 * the process has certainly died: first the death, then the revocation. What the dead process has
 * sent may still arrive; that is left to terms and fences, as after every expiry.
 */

import type { Clock } from '../base/clock.ts';
import type { TelemetryFields } from '../base/telemetry.ts';
import { invalidOption } from '../base/validate.ts';
import type { LeaseId, Store } from '../store/contract.ts';

export interface Reaper {
  /**
   * A member joins, at its construction: no I/O yet. Throws a `TypeError` or `RangeError` with the
   * code `INVALID_OPTION` where it could never help, as with a store that no other process can
   * reach.
   */
  join(member: ReapedMember): ReaperSeat;
}

/** What a reaper is told of a member. */
export interface ReapedMember {
  readonly store: Store;
  readonly clock: Clock;
  /**
   * For diagnostics: `reaperLost` when the reaper itself has died, `reaperReady` when it is there.
   */
  emit(event: 'reaperReady' | 'reaperLost', fields: TelemetryFields): void;
}

/** A member's place at a reaper. */
export interface ReaperSeat {
  /**
   * From now on the lease is revoked at once when this process dies. Called as soon as the store
   * has granted it. Never throws.
   */
  watch(lease: LeaseId): WatchedLease;
  /**
   * The member is closed, its leases revoked or left to expire. Resolves, within a second, when
   * nothing of the reaper is left, unless other members have joined.
   */
  close(): Promise<void>;
}

export interface WatchedLease {
  /** It was granted or renewed: what is called in one go with that answer. Never throws. */
  renewed(until: LeaseTimes): void;
  /**
   * Nobody leads by it any more, though work may drain: what begins now does not live by it. Never
   * throws.
   */
  ended(): void;
  /**
   * It is revoked, expired, or given up, and nothing that led by it is draining any more. Never
   * throws.
   */
  forget(): void;
}

/** On the member's monotonic clock, in ms. */
export interface LeaseTimes {
  /**
   * Until then the store certainly keeps the lease: what was done by virtue of it must have stopped
   * by then.
   */
  readonly safeUntil: number;
  /** By then a healthy store has ended it. */
  readonly overBy: number;
}

export function checkReaper(reaper: unknown): Reaper | undefined {
  if (reaper === undefined || isReaper(reaper)) return reaper;
  throw invalidOption(
    'reaper',
    reaper,
    'what reaper() of @incumbent/reaper gives; true is understood by the Member of the package incumbent alone',
  );
}

function isReaper(value: unknown): value is Reaper {
  return typeof value === 'object' && value !== null && 'join' in value && typeof value.join === 'function';
}
