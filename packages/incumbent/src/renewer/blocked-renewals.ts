/**
 * Decides when the worker renews a lease: while the main thread's event loop is blocked, as often
 * as the main thread would, and up to `maxBlockedMs`.
 */

import { isIncumbentError, type Revoker } from '@incumbent/core';

import { now, type SharedLease } from './shared-lease.ts';

/** All in ms. */
export interface RenewalRules {
  /** The event loop counts as blocked when it has not run for so long. */
  readonly blockedAfterMs: number;
  /** When it has not run for so long, the worker stops renewing, and the leases expire. */
  readonly maxBlockedMs: number;
  readonly retryEveryMs: number;
  readonly callTimeoutMs: number;
}

/** A lease that the worker renews. */
export interface RenewableLease {
  /** The argument of `Revoker.renew`. */
  readonly ticket: string;
  readonly renewEveryMs: number;
  readonly shared: SharedLease;
}

/** Both clocks of this process. For tests. */
export interface ThreadClock {
  /** The time that all threads share, in ms. */
  now(): number;
  /** Milliseconds since the epoch. */
  wall(): number;
}

interface Tracked extends RenewableLease {
  isRenewing: boolean;
  /** When the last renewal was sent that the store has acknowledged. */
  renewedAtMs: number;
  retryAtMs: number;
}

const systemThreadClock: ThreadClock = { now, wall: () => Date.now() };

/** Renews the leases of one member from the worker, while the main thread is blocked. */
export class BlockedRenewals {
  readonly #renew: NonNullable<Revoker['renew']>;
  readonly #rules: RenewalRules;
  readonly #clock: ThreadClock;
  readonly #leases = new Set<Tracked>();

  constructor(renew: NonNullable<Revoker['renew']>, rules: RenewalRules, clock: ThreadClock = systemThreadClock) {
    this.#renew = renew;
    this.#rules = rules;
    this.#clock = clock;
  }

  add(lease: RenewableLease): void {
    this.#leases.add({ ...lease, isRenewing: false, renewedAtMs: -Infinity, retryAtMs: -Infinity });
  }

  /** Renews the leases that are due. Call it several times per `blockedAfterMs`. */
  check(): void {
    for (const lease of this.#leases) {
      if (lease.shared.isEnded) this.#leases.delete(lease);
      else if (!lease.isRenewing && this.#isDue(lease)) void this.#renewOnce(lease);
    }
  }

  #isDue({ shared, renewEveryMs, renewedAtMs, retryAtMs }: Tracked): boolean {
    const nowMs = this.#clock.now();
    const blockedMs = nowMs - shared.beatMs;
    if (blockedMs < this.#rules.blockedAfterMs || blockedMs > this.#rules.maxBlockedMs) return false;
    return nowMs - Math.max(shared.newestMs, renewedAtMs) >= renewEveryMs && nowMs >= retryAtMs;
  }

  async #renewOnce(lease: Tracked): Promise<void> {
    const [wallMs, atMs] = [this.#clock.wall(), this.#clock.now()];
    lease.isRenewing = true;
    try {
      const at = { monotonicMs: atMs, wallMs };
      const { ttlMs, validFrom } = await this.#renew(lease.ticket, { at, timeoutMs: this.#rules.callTimeoutMs });
      lease.renewedAtMs = atMs;
      lease.shared.publish({
        atMs: Math.min(atMs, validFrom.monotonicMs),
        wallMs: Math.min(wallMs, validFrom.wallMs),
        ttlMs,
      });
    } catch (error) {
      if (isIncumbentError(error, 'LEASE_EXPIRED')) this.#leases.delete(lease);
      lease.retryAtMs = this.#clock.now() + this.#rules.retryEveryMs;
    } finally {
      lease.isRenewing = false;
    }
  }
}
