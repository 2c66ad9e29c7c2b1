/** Ends the leases that nobody renews, on a store that does not end them itself. */

import type { Cancel, Clock, LeaseId } from '@incumbent/core';

import { ObservedLease, type Sight } from './observed-lease.ts';

/** What a {@link LeaseObserver} needs of its adapter. */
export interface ObservedStore {
  /**
   * Reads these leases as they are now. A lease that is missing in the result is certainly gone,
   * for ever. Rejects if that is not certain of all.
   */
  look(leases: readonly LeaseId[]): Promise<ReadonlyMap<LeaseId, Sight>>;
  /**
   * Ends the lease in one step, if it still has this version. Resolves also if it has another one
   * or is gone.
   */
  end(lease: LeaseId, version: string): Promise<void>;
  /** The lease is certainly gone. Deletes its keys. Called again if it rejects. */
  forget(lease: LeaseId): Promise<void>;
  /** Whether the process still depends on the end of the lease. Asked before each look. */
  dependsOn(lease: LeaseId): boolean;
}

/** The pause after a look that failed, and the shortest one between two looks. */
const RETRY_MS = 250;
const SHORTEST_PAUSE_MS = 20;

/**
 * Observes the leases that this process depends on, and ends those that have not changed for their
 * whole ttl. Any number of observers may observe one lease: they compete, and a renewal competes
 * with them, for one conditional change of one object.
 *
 * The adapter tells what it sees by {@link saw}, for example from a watch. The observer itself
 * looks when it begins to observe a lease, and when a ttl is over.
 *
 * An observer begins a new ttl for a lease that it sees for the first time. After a crash, a lease
 * so ends one ttl after somebody has begun to look, not one ttl after the crash.
 */
export class LeaseObserver {
  readonly #clock: Clock;
  readonly #store: ObservedStore;
  /** Undefined: not seen yet. */
  readonly #leases = new Map<LeaseId, ObservedLease | undefined>();
  /** Those that the next round looks at, although their ttl is not over. */
  readonly #doubted = new Set<LeaseId>();
  #cancel: Cancel | undefined;
  #isLooking = false;
  #isClosed = false;

  constructor(clock: Clock, store: ObservedStore) {
    this.#clock = clock;
    this.#store = store;
  }

  isObserving(lease: LeaseId): boolean {
    return this.#leases.has(lease);
  }

  /** Observes the lease until it has ended, or the process does not depend on it any longer. */
  observe(lease: LeaseId): void {
    if (this.#isClosed || this.#leases.has(lease)) return;
    this.#leases.set(lease, undefined);
    this.#lookIn(0);
  }

  /**
   * Takes what the adapter has just received. Begins to observe the lease, if it is not observed.
   * Without a sight the lease may be gone, and the observer looks at once.
   */
  saw(lease: LeaseId, sight: Sight | undefined): void {
    if (this.#isClosed) return;
    const nowMs = this.#clock.monotonic();
    const observed = this.#leases.get(lease);
    if (sight === undefined) {
      if (!this.#leases.has(lease)) return;
      this.#leases.set(lease, undefined);
      this.#lookIn(0);
    } else if (observed === undefined) {
      this.#leases.set(lease, new ObservedLease(sight, nowMs));
      this.#lookIn(this.#pauseMs());
    } else {
      // The end of the ttl is left to a look, which is newer than what was received.
      observed.see(sight, nowMs);
    }
  }

  /**
   * Looks at the lease at once, if it is observed: it may have ended while nobody told the adapter,
   * for example between two watches. What was seen before still counts.
   */
  doubt(lease: LeaseId): void {
    if (this.#isClosed || !this.#leases.has(lease)) return;
    this.#doubted.add(lease);
    this.#lookIn(0);
  }

  /** Ends the observation of a lease whose end another part of the adapter has brought about. */
  drop(lease: LeaseId): void {
    this.#leases.delete(lease);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
    this.#leases.clear();
  }

  #lookIn(pauseMs: number): void {
    if (this.#isLooking) return;
    this.#cancel?.();
    this.#cancel = this.#clock.schedule(pauseMs, () => void this.#round());
  }

  async #round(): Promise<void> {
    this.#isLooking = true;
    let pauseMs = RETRY_MS;
    try {
      await this.#lookAtDue();
      pauseMs = this.#pauseMs();
    } catch {
      // The next round tries again. What was seen before still counts.
    } finally {
      this.#isLooking = false;
    }
    if (!this.#isClosed && this.#leases.size > 0) this.#lookIn(pauseMs);
  }

  async #lookAtDue(): Promise<void> {
    for (const lease of this.#leases.keys()) if (!this.#store.dependsOn(lease)) this.#leases.delete(lease);
    const beganMs = this.#clock.monotonic();
    const doubted = new Set(this.#doubted);
    this.#doubted.clear();
    const isDue = (lease: LeaseId, observed: ObservedLease | undefined): boolean =>
      observed === undefined || observed.endsAtMs <= beganMs || doubted.has(lease);
    const due = [...this.#leases].flatMap(([lease, observed]) => (isDue(lease, observed) ? [lease] : []));
    if (due.length === 0) return;
    const sights = await this.#look(due, doubted);
    const nowMs = this.#clock.monotonic();
    await Promise.all(due.map((lease) => this.#judge(lease, sights.get(lease), nowMs)));
  }

  /** A failure leaves the doubts to the next round. */
  async #look(due: readonly LeaseId[], doubted: ReadonlySet<LeaseId>): Promise<ReadonlyMap<LeaseId, Sight>> {
    try {
      return await this.#store.look(due);
    } catch (error) {
      for (const lease of doubted) this.#doubted.add(lease);
      throw error;
    }
  }

  async #judge(lease: LeaseId, sight: Sight | undefined, nowMs: number): Promise<void> {
    if (this.#isClosed) return;
    if (sight === undefined) {
      await this.#store.forget(lease);
      this.#leases.delete(lease);
      return;
    }
    const observed = this.#leases.get(lease);
    if (observed === undefined) {
      this.#leases.set(lease, new ObservedLease(sight, nowMs));
    } else if (observed.see(sight, nowMs)) {
      await this.#store.end(lease, observed.version);
      await this.#judgeAgain(lease);
    }
  }

  /** After an end, which also a renewal or another observer may have won. */
  async #judgeAgain(lease: LeaseId): Promise<void> {
    const sight = (await this.#store.look([lease])).get(lease);
    const nowMs = this.#clock.monotonic();
    if (sight === undefined) return this.#judge(lease, undefined, nowMs);
    this.#leases.get(lease)?.see(sight, nowMs);
  }

  #pauseMs(): number {
    if (this.#doubted.size > 0) return SHORTEST_PAUSE_MS;
    const nowMs = this.#clock.monotonic();
    const pauses = [...this.#leases.values()].map((lease) => (lease === undefined ? 0 : lease.endsAtMs - nowMs));
    return Math.max(Math.min(...pauses), SHORTEST_PAUSE_MS);
  }
}
