/**
 * Ends a member's leases when its process dies. `@incumbent/reaper` is an implementation. Without a
 * reaper, the store keeps the leases of a dead process until their ttl is over.
 *
 * **Safety.** A lease must not end early while a process is valid by it. So a reaper revokes a
 * lease only after the process has certainly died. A request that the dead process has sent may
 * still arrive; terms and fences reject it, as after every expiry.
 */

import type { Clock } from '../base/clock.ts';
import type { TelemetryFields } from '../base/telemetry.ts';
import { hasMethods, invalidOption } from '../base/validate.ts';
import type { LeaseId, Store } from '../store/contract.ts';

/** Ends the leases of a dead process. Pass one to several members to share it. */
export interface Reaper {
  /**
   * Adds a member, when the member is constructed. Does no I/O yet.
   *
   * @throws A `TypeError` or `RangeError` (`INVALID_OPTION`) if the reaper could never help, as
   *   with a store that no other process can reach.
   */
  join(member: ReapedMember): ReaperMemberHandle;
}

/** The facts about a member that a reaper gets. */
export interface ReapedMember {
  readonly store: Store;
  readonly clock: Clock;
  /**
   * For diagnostics: `reaperLost` when the reaper itself has died, `reaperReady` when it is there.
   */
  emit(event: 'reaperReady' | 'reaperLost', fields: TelemetryFields): void;
}

/** The handle of a member at its reaper. */
export interface ReaperMemberHandle {
  /**
   * From now on, revokes the lease when this process dies. Called as soon as the store has granted
   * the lease. Never throws.
   */
  watch(lease: LeaseId): WatchedLease;
  /**
   * Called when the member is closed, and its leases are revoked or left to expire. Resolves within
   * 1 s, when nothing of the reaper runs any more, unless other members have joined.
   */
  close(): Promise<void>;
}

/** The reaper's handle of one lease. The member reports the lease's times through it. */
export interface WatchedLease {
  /** The lease was granted or renewed. Called synchronously with that answer. Never throws. */
  renewed(until: LeaseTimes): void;
  /**
   * No leadership is valid by this lease any more. Work of earlier ones may still drain. Never
   * throws.
   */
  ended(): void;
  /** The lease is revoked, expired or given up, and no work drains any more. Never throws. */
  forget(): void;
}

/** On the member's monotonic clock, in ms. */
export interface LeaseTimes {
  /**
   * The moment until which the store certainly keeps the lease. Work that relies on it must stop by
   * then.
   */
  readonly safeUntil: number;
  /** The moment by which a healthy store has ended the lease. */
  readonly overBy: number;
}

/** Returns the reaper. Throws `INVALID_OPTION` if it has no function `join`. */
export function checkReaper(reaper: unknown): Reaper | undefined {
  if (reaper === undefined || isReaper(reaper)) return reaper;
  throw invalidOption(
    'reaper',
    reaper,
    'the result of reaper() of @incumbent/reaper (only the Member of the package incumbent accepts true)',
  );
}

function isReaper(value: unknown): value is Reaper {
  return hasMethods(value, 'join');
}
