/** Ends the leases that nobody renews, on a store that does not end them itself. */

import type { Cancel, Clock, LeaseId } from '@incumbent/core';

import { ObservedLease, type LeaseView } from './observed-lease.ts';

/** What a {@link LeaseObserver} needs of its adapter. */
export interface ObservedStore {
  /**
   * Reads these leases as they are now. A lease that is missing in the result is certainly gone,
   * for ever. Rejects if that is not certain of all.
   */
  look(leases: readonly LeaseId[]): Promise<ReadonlyMap<LeaseId, LeaseView>>;
  /**
   * Ends the lease in one step, if it still has this version. Resolves also if it has another one
   * or is gone.
   */
  end(lease: LeaseId, version: string): Promise<void>;
  /** Deletes the keys of a lease that is certainly gone. Called again if it rejects. */
  deleteKeys(lease: LeaseId): Promise<void>;
  /**
   * Whether the process still depends on the end of the lease. Asked before each look. `ttlMs`: of
   * the lease, once it was seen.
   */
  dependsOn(lease: LeaseId, ttlMs: number | undefined): boolean;
}

/** The pause after a failure, in ms. It doubles with each further failure in a row. */
const RETRY_MS = 250;
/** The longest pause after a look that failed. */
const LONGEST_LOOK_PAUSE_MS = 1_000;
/** The longest pause after the end of a lease, or the deletion of its keys, that failed. */
const LONGEST_END_PAUSE_MS = 5_000;
/** The shortest pause between two looks. */
const SHORTEST_PAUSE_MS = 20;
/**
 * A look includes the leases of which at most this part of the ttl is left. Live leases have been
 * renewed by then, so all their ttls begin anew at this look, and the next look is one for all of
 * them. An adapter can read many leases by one request.
 */
const EARLY_PART = 1 / 4;

/** A lease that looks leave out for a while. */
interface Pause {
  /** Infinity while its end or the deletion of its keys is under way. */
  readonly untilMs: number;
  readonly failures: number;
}

/**
 * Observes the leases that this process depends on, and ends those that have not changed for their
 * whole ttl. Any number of observers may observe one lease: they compete, and a renewal competes
 * with them, for one conditional change of one object.
 *
 * The adapter tells what it sees by {@link saw}, for example from a watch. The observer itself
 * looks when it begins to observe a lease, and when a ttl is over.
 *
 * An observer begins a new ttl for a lease that it sees for the first time. After a crash of all
 * processes, a lease therefore ends one ttl after the first look, not one ttl after the crash.
 */
export class LeaseObserver {
  readonly #clock: Clock;
  readonly #store: ObservedStore;
  /** Undefined: not seen yet. */
  readonly #leases = new Map<LeaseId, ObservedLease | undefined>();
  /** Those that the next look includes, although their ttl is not over. */
  readonly #toRecheck = new Set<LeaseId>();
  readonly #pauses = new Map<LeaseId, Pause>();
  #failedLooks = 0;
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
   * Without a view the lease may be gone, and the observer looks at once.
   */
  saw(lease: LeaseId, view: LeaseView | undefined): void {
    if (this.#isClosed) return;
    if (view === undefined) return this.recheck(lease);
    const nowMs = this.#clock.monotonic();
    const observed = this.#leases.get(lease);
    if (observed === undefined) {
      this.#leases.set(lease, new ObservedLease(view, nowMs));
      this.#plan();
    } else {
      // The end of the ttl is left to a look, which is newer than what was received.
      observed.see(view, nowMs);
    }
  }

  /**
   * Looks at the lease at once, if it is observed: it may have ended while nobody told the adapter,
   * for example between two watches. What was seen before still counts.
   */
  recheck(lease: LeaseId): void {
    if (this.#isClosed || !this.#leases.has(lease)) return;
    this.#toRecheck.add(lease);
    this.#lookIn(0);
  }

  /** Ends the observation of a lease whose end another part of the adapter has brought about. */
  drop(lease: LeaseId): void {
    this.#leases.delete(lease);
    this.#toRecheck.delete(lease);
    if (this.#pausedUntilMs(lease) < Number.POSITIVE_INFINITY) this.#pauses.delete(lease);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
    this.#leases.clear();
  }

  #lookIn(pauseMs: number): void {
    if (this.#isLooking) return;
    this.#cancel?.();
    this.#cancel = this.#clock.schedule(pauseMs, () => void this.#lookAndPlan());
  }

  /** Looks when the next lease is due. */
  #plan(): void {
    if (!this.#isClosed && this.#leases.size > 0) this.#lookIn(this.#pauseMs());
  }

  async #lookAndPlan(): Promise<void> {
    this.#isLooking = true;
    try {
      await this.#lookAtDue();
      this.#failedLooks = 0;
    } catch {
      // The next look tries again. What was seen before still counts.
      this.#failedLooks += 1;
    } finally {
      this.#isLooking = false;
    }
    if (this.#failedLooks === 0) this.#plan();
    else if (!this.#isClosed) this.#lookIn(retryMs(this.#failedLooks, LONGEST_LOOK_PAUSE_MS));
  }

  async #lookAtDue(): Promise<void> {
    for (const [lease, observed] of this.#leases) if (!this.#store.dependsOn(lease, observed?.ttlMs)) this.drop(lease);
    const beganMs = this.#clock.monotonic();
    if (![...this.#leases.keys()].some((lease) => this.#dueAtMs(lease) <= beganMs)) return;
    const due = [...this.#leases].flatMap(([lease, observed]) => {
      const earlyMs = observed === undefined || this.#pauses.has(lease) ? 0 : observed.ttlMs * EARLY_PART;
      return this.#dueAtMs(lease) - earlyMs <= beganMs ? [lease] : [];
    });
    const views = await this.#look(due);
    for (const lease of due) this.#onLook(lease, views.get(lease), beganMs);
  }

  /** After a failure, the next look includes what was to be rechecked. */
  async #look(due: readonly LeaseId[]): Promise<ReadonlyMap<LeaseId, LeaseView>> {
    const rechecked = due.filter((lease) => this.#toRecheck.delete(lease));
    try {
      return await this.#store.look(due);
    } catch (error) {
      for (const lease of rechecked) if (this.#leases.has(lease)) this.#toRecheck.add(lease);
      throw error;
    }
  }

  /** `beganMs`: the time before the look. The lease may have been dropped since. */
  #onLook(lease: LeaseId, view: LeaseView | undefined, beganMs: number): void {
    if (!this.#leases.has(lease)) return;
    if (view === undefined) return void this.#act(lease, () => this.#deleteKeys(lease));
    const nowMs = this.#clock.monotonic();
    const observed = this.#leases.get(lease);
    if (observed === undefined) this.#leases.set(lease, new ObservedLease(view, nowMs));
    else if (observed.seeRead(view, beganMs, nowMs)) void this.#act(lease, () => this.#end(lease, observed.version));
  }

  /**
   * Runs beside the looks, so that a request that fails or is not answered concerns only its own
   * lease. Never rejects. After a failure, a later look includes the lease again.
   */
  async #act(lease: LeaseId, task: () => Promise<void>): Promise<void> {
    const failures = (this.#pauses.get(lease)?.failures ?? 0) + 1;
    this.#pauses.set(lease, { untilMs: Number.POSITIVE_INFINITY, failures });
    try {
      await task();
      this.#pauses.delete(lease);
    } catch {
      const untilMs = this.#clock.monotonic() + retryMs(failures, LONGEST_END_PAUSE_MS);
      this.#pauses.set(lease, { untilMs, failures });
      if (this.#leases.has(lease)) this.#toRecheck.add(lease);
      else this.drop(lease);
    }
    this.#plan();
  }

  async #deleteKeys(lease: LeaseId): Promise<void> {
    await this.#store.deleteKeys(lease);
    this.drop(lease);
  }

  /** A renewal or another observer may win. */
  async #end(lease: LeaseId, version: string): Promise<void> {
    await this.#store.end(lease, version);
    const beganMs = this.#clock.monotonic();
    const view = (await this.#store.look([lease])).get(lease);
    if (this.#isClosed) return;
    if (view === undefined) return this.#deleteKeys(lease);
    this.#leases.get(lease)?.seeRead(view, beganMs, this.#clock.monotonic());
  }

  #pausedUntilMs(lease: LeaseId): number {
    return this.#pauses.get(lease)?.untilMs ?? Number.NEGATIVE_INFINITY;
  }

  /** The monotonic time from which looks include the lease. */
  #dueAtMs(lease: LeaseId): number {
    const endsAtMs = this.#toRecheck.has(lease) ? undefined : this.#leases.get(lease)?.endsAtMs;
    return Math.max(endsAtMs ?? Number.NEGATIVE_INFINITY, this.#pausedUntilMs(lease));
  }

  #pauseMs(): number {
    const dueAtMs = [...this.#leases.keys()].map((lease) => this.#dueAtMs(lease));
    return Math.max(Math.min(...dueAtMs) - this.#clock.monotonic(), SHORTEST_PAUSE_MS);
  }
}

function retryMs(failures: number, longestMs: number): number {
  return Math.min(RETRY_MS * 2 ** (failures - 1), longestMs);
}
