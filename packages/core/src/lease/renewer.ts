/**
 * Renews a member's leases while the member's event loop is blocked. The `Member` of the package
 * `incumbent` has an implementation, a worker thread: `renewIn: 'worker'`.
 *
 * **Safety.** A store never brings back a lease that has ended. An acknowledged renewal therefore
 * proves that the lease was live all the time, whoever sent the renewal. So a session counts a
 * renewal by the renewer as it counts its own: from the moment before the renewal was sent. Once a
 * session has ended, no renewal makes it valid again.
 *
 * **A process that hangs.** The renewer renews only while the event loop is blocked, and only up to
 * a limit. After that the lease expires, and another member leads.
 */

import type { Clock } from '../base/clock.ts';
import type { TelemetryFields } from '../base/telemetry.ts';
import { checkNumber, hasMethods, invalidOption } from '../base/validate.ts';
import type { LeaseId, Renewal, Store } from '../store/contract.ts';
import { MAX_TTL_MS, type Timing } from './timing.ts';

/** Renews leases while the event loop is blocked. Pass one to one member. */
export interface Renewer {
  /**
   * Adds the member, when the member is constructed. Does no I/O yet.
   *
   * @throws A `TypeError` or `RangeError` (`INVALID_OPTION`) if the renewer could never help, as
   *   with a store whose leases only its own connection can renew.
   */
  join(member: RenewedMember): RenewerMemberHandle;
}

/** The facts about a member that a renewer gets. */
export interface RenewedMember {
  readonly store: Store;
  readonly clock: Clock;
  readonly timing: Timing;
  /** The longest block of the event loop during which the renewer renews, in ms. */
  readonly maxBlockedMs: number;
  /**
   * For diagnostics: `renewerReady` when the renewer can renew, `renewerLost` when it no longer
   * can.
   */
  emit(event: 'renewerReady' | 'renewerLost', fields: TelemetryFields): void;
}

/** The handle of a member at its renewer. */
export interface RenewerMemberHandle {
  /** Called as soon as the store has granted the lease. Never throws. */
  renew(lease: LeaseId, granted: Renewal): RenewedLease;
  /**
   * Called when the member is closed. Resolves within 1 s, when nothing of the renewer runs any
   * more.
   */
  close(): Promise<void>;
}

/** The renewer's handle of one lease. No method throws or waits. */
export interface RenewedLease {
  /** The event loop runs. Called about 20 times per ttl. */
  beat(): void;
  /** The member itself has renewed the lease. */
  renewed(renewal: Renewal): void;
  /**
   * The newest renewal by the renewer that the store has acknowledged, on the member's clocks.
   * Undefined if there is none.
   */
  latest(): Renewal | undefined;
  /** The session has ended: the renewer sends no renewal of this lease any more. */
  ended(): void;
}

/**
 * Returns the option `renewIn`.
 *
 * @throws `INVALID_OPTION` if it has no function `join`.
 */
export function checkRenewer(renewer: unknown): Renewer | undefined {
  if (renewer === undefined || isRenewer(renewer)) return renewer;
  throw invalidOption('renewIn', renewer, "an object with a function join (only the Member of the package incumbent accepts 'worker')");
}

function isRenewer(value: unknown): value is Renewer {
  return hasMethods(value, 'join');
}

/** The default of `maxBlockedMs`, in ttls. */
const MAX_BLOCKED_TTLS = 3;

/**
 * Returns the option `maxBlockedMs`, with its default filled in.
 *
 * @throws `INVALID_OPTION` if it is out of range, or there is no renewer.
 */
export function checkMaxBlocked(maxBlockedMs: unknown, { ttlMs }: Timing, renewer: Renewer | undefined): number {
  if (renewer === undefined && maxBlockedMs !== undefined)
    throw invalidOption('maxBlockedMs', maxBlockedMs, "left out, or combined with renewIn: 'worker'");
  const range = { min: ttlMs, max: MAX_TTL_MS, why: 'at least ttlMs' };
  return checkNumber('maxBlockedMs', maxBlockedMs, Math.min(MAX_BLOCKED_TTLS * ttlMs, MAX_TTL_MS), range);
}
