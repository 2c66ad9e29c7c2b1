/**
 * The leases of the simulated store. They end late by a random delay, and never early, unless the
 * plan's store does that.
 */

import { StoreError, type LeaseId } from '@incumbent/core';
import type { Stream } from '../time/random.ts';
import type { Entry, Scheduler } from '../time/scheduler.ts';
import type { LeaseBook } from './state.ts';

export interface HeldLease {
  readonly id: LeaseId;
  /** The client to which the lease was granted. */
  readonly owner: string;
  readonly ttlMs: number;
  /** In world time, in ms. */
  readonly endsAtMs: number;
}

export interface LeaseRules {
  /** The rate of the store's clock. At 1.01 a lease ends before its ttl is over. */
  readonly rate: number;
  /** A lease ends up to this many ms late. */
  readonly lateMs: number;
  /** Whether a key can be bound to another client's lease. */
  readonly assignable: boolean;
  /**
   * Whether an acknowledged renewal extends the lease only from the renewal before it. Some stores'
   * acknowledgements prove only this.
   */
  readonly lagging: boolean;
}

interface Kept {
  readonly lease: Omit<HeldLease, 'endsAtMs'>;
  endsAtMs: number;
  /** When the latest renewal arrived. */
  renewedAtMs: number;
  entry: Entry;
}

export class Leases implements LeaseBook {
  readonly #scheduler: Scheduler;
  readonly #random: Stream;
  readonly #rules: LeaseRules;
  readonly #expired: (lease: LeaseId) => void;
  readonly #kept = new Map<LeaseId, Kept>();
  #granted = 0;
  /** Until this moment no lease expires, because the store does not run. */
  #frozenUntilMs = 0;

  /** Calls `expired` when a lease has expired, after removing it. */
  constructor(scheduler: Scheduler, random: Stream, rules: LeaseRules, expired: (lease: LeaseId) => void) {
    this.#scheduler = scheduler;
    this.#random = random;
    this.#rules = rules;
    this.#expired = expired;
  }

  check(id: LeaseId, owner: string): void {
    const { lease } = this.#live(id);
    if (this.#rules.assignable || lease.owner === owner) return;
    throw new StoreError('UNSUPPORTED', 'refused', `the lease ${id} is another client's, and this store binds a key only to one's own`);
  }

  /** The owner of a live lease. */
  ownerOf(id: LeaseId | undefined): string | undefined {
    return id === undefined ? undefined : this.#kept.get(id)?.lease.owner;
  }

  all(): readonly HeldLease[] {
    return [...this.#kept.values()].map(({ lease, endsAtMs }) => ({ ...lease, endsAtMs }));
  }

  grant(ttlMs: number, owner: string): HeldLease {
    this.#granted += 1;
    const lease = { id: `lease-${this.#granted}`, owner, ttlMs };
    const endsAtMs = this.#scheduler.nowMs + this.#lifeMs(ttlMs);
    this.#keep(lease, endsAtMs);
    return { ...lease, endsAtMs };
  }

  renew(id: LeaseId): HeldLease {
    const kept = this.#live(id);
    const from = this.#rules.lagging ? kept.renewedAtMs : this.#scheduler.nowMs;
    kept.renewedAtMs = this.#scheduler.nowMs;
    kept.endsAtMs = Math.max(kept.endsAtMs, from + this.#lifeMs(kept.lease.ttlMs));
    return { ...kept.lease, endsAtMs: kept.endsAtMs };
  }

  /** Removes a lease. False if there was no such lease. */
  remove(id: LeaseId): boolean {
    const kept = this.#kept.get(id);
    if (kept !== undefined) kept.entry.task = undefined;
    return this.#kept.delete(id);
  }

  /** Until this moment of world time no lease expires. Then every lease has its whole ttl again. */
  refresh(untilMs: number): void {
    this.#frozenUntilMs = Math.max(this.#frozenUntilMs, untilMs);
    for (const kept of this.#kept.values()) {
      kept.renewedAtMs = this.#frozenUntilMs;
      kept.endsAtMs = Math.max(kept.endsAtMs, this.#frozenUntilMs + this.#lifeMs(kept.lease.ttlMs));
    }
  }

  /** The live leases, for {@link Leases.restore}. */
  copy(): readonly HeldLease[] {
    return this.all();
  }

  /** Replaces the live leases by those of a copy. */
  restore(leases: readonly HeldLease[]): void {
    for (const id of [...this.#kept.keys()]) this.remove(id);
    for (const { id, owner, ttlMs, endsAtMs } of leases) this.#keep({ id, owner, ttlMs }, Math.max(endsAtMs, this.#scheduler.nowMs));
  }

  #live(id: LeaseId): Kept {
    const kept = this.#kept.get(id);
    if (kept !== undefined) return kept;
    throw new StoreError('LEASE_EXPIRED', 'refused', `there is no lease ${id}`);
  }

  #lifeMs(ttlMs: number): number {
    return ttlMs / this.#rules.rate;
  }

  #keep(lease: Kept['lease'], endsAtMs: number): void {
    const entry = this.#scheduler.at(endsAtMs, () => {});
    const kept = { lease, endsAtMs, renewedAtMs: this.#scheduler.nowMs, entry };
    entry.task = () => this.#due(kept);
    this.#kept.set(lease.id, kept);
  }

  /**
   * Ends the lease if its time is over. The lease may have been renewed meanwhile. A real store
   * looks for expired leases only at intervals, so the end comes late.
   */
  #due(kept: Kept): void {
    const { nowMs } = this.#scheduler;
    const dueMs = Math.max(kept.endsAtMs, this.#frozenUntilMs);
    if (nowMs < dueMs) this.#again(kept, dueMs + this.#random.between(0, this.#rules.lateMs));
    else {
      this.#kept.delete(kept.lease.id);
      this.#expired(kept.lease.id);
    }
  }

  #again(kept: Kept, atMs: number): void {
    kept.entry = this.#scheduler.at(atMs, () => this.#due(kept));
  }
}
