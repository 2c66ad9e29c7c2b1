/**
 * When the leases of watched keys end. The server does not report the end of a lease: it removes an
 * expired key when somebody accesses it. So each store counts down the time of every lease that its
 * watches depend on, and then asks the server once per lease how much time is left. If the lease
 * has ended, that question removes the keys of the lease, and the script publishes this to all
 * stores. A random delay spreads the questions, so that most stores learn of the end before they
 * have asked.
 */

import type { Cancel, Clock, LeaseId } from '@incumbent/core';
import { fraction, systemRandom } from '@incumbent/core/adapter';

import type { StoredEntry } from '../protocol/entries.ts';

/** The longest random delay before a question, in ms. */
const SPREAD_MS = 20;

/** The time until the next question after a question failed. */
const RETRY_MS = 250;

/**
 * The time between questions for a lease without an end. An operator may give it an end, or delete
 * it, without a notice.
 */
const PERSISTENT_LEASE_MS = 10_000;

/** A watch that depends on leases. */
export interface LeaseListener {
  /** The lease has ended: its keys are gone. */
  onLeaseEnded(lease: LeaseId): void;
  /** It is not known whether a lease has ended: read again. */
  invalidate(): void;
}

interface TrackedLease {
  dueAtMs: number;
  /** This lease alone. All listeners that depend on no other lease share it. */
  readonly only: ReadonlySet<LeaseId>;
  readonly listeners: Set<LeaseListener>;
  cancel: Cancel;
}

/**
 * Asks how many ms each lease has left: undefined for one that has ended, Infinity for one without
 * an end.
 */
export type AskRemaining = (leases: readonly LeaseId[]) => Promise<readonly (number | undefined)[]>;

export class LeaseExpiries {
  readonly #clock: Clock;
  readonly #ask: AskRemaining;
  readonly #tracked = new Map<LeaseId, TrackedLease>();
  readonly #leasesOf = new Map<LeaseListener, ReadonlySet<LeaseId>>();
  #due: LeaseId[] = [];

  constructor(clock: Clock, ask: AskRemaining) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /** From now on, the listener depends on the leases of these entries, and on no others. */
  track(listener: LeaseListener, entries: Iterable<StoredEntry>): void {
    const before = this.#leasesOf.get(listener);
    const now = new Set<LeaseId>();
    for (const { entry, remainingMs } of entries) {
      if (entry.lease === undefined) continue;
      if (!now.has(entry.lease)) this.#add(listener, entry.lease, remainingMs, before?.has(entry.lease) === true);
      now.add(entry.lease);
    }
    for (const lease of before ?? []) if (!now.has(lease)) this.#remove(listener, lease);
    const [first] = now;
    if (first === undefined) this.#leasesOf.delete(listener);
    else this.#leasesOf.set(listener, (now.size === 1 && this.#tracked.get(first)?.only) || now);
  }

  /**
   * This store has renewed the lease, which may end at this time: its ttl after the sending of the
   * renewal, whose answer may have taken long.
   */
  onRenewed(lease: LeaseId, endsByMs: number): void {
    const tracked = this.#tracked.get(lease);
    if (tracked !== undefined) tracked.dueAtMs = Math.max(tracked.dueAtMs, endsByMs);
  }

  /**
   * Keeps the tracked time of a lease that this listener has already. The time of the entry is from
   * when the entry was read or published, and may be older.
   */
  #add(listener: LeaseListener, lease: LeaseId, remainingMs: number | undefined, isKnown: boolean): void {
    const known = this.#tracked.get(lease);
    if (known !== undefined) {
      known.listeners.add(listener);
      const dueAtMs = this.#clock.monotonic() + (remainingMs ?? 0);
      if (!isKnown && dueAtMs > known.dueAtMs) known.dueAtMs = dueAtMs;
      return;
    }
    const tracked: TrackedLease = { dueAtMs: 0, only: new Set([lease]), listeners: new Set([listener]), cancel: () => {} };
    this.#tracked.set(lease, tracked);
    this.#setRemaining(lease, tracked, remainingMs ?? PERSISTENT_LEASE_MS);
  }

  #remove(listener: LeaseListener, lease: LeaseId): void {
    const tracked = this.#tracked.get(lease);
    tracked?.listeners.delete(listener);
    if (tracked?.listeners.size !== 0) return;
    tracked.cancel();
    this.#tracked.delete(lease);
  }

  #setRemaining(lease: LeaseId, tracked: TrackedLease, remainingMs: number): void {
    tracked.dueAtMs = this.#clock.monotonic() + remainingMs;
    this.#schedule(lease, tracked, remainingMs);
  }

  /**
   * Adds one millisecond, because the server's clock may be within an earlier millisecond than this
   * one.
   */
  #schedule(lease: LeaseId, tracked: TrackedLease, delayMs: number): void {
    const spreadMs = 1 + fraction(systemRandom) * SPREAD_MS;
    tracked.cancel();
    tracked.cancel = this.#clock.schedule(delayMs + spreadMs, () => this.#onDue(lease, tracked));
  }

  #onDue(lease: LeaseId, tracked: TrackedLease): void {
    const remainingMs = tracked.dueAtMs - this.#clock.monotonic();
    if (remainingMs > 0) return this.#schedule(lease, tracked, remainingMs);
    if (this.#due.length === 0) queueMicrotask(() => void this.#askAll());
    this.#due.push(lease);
  }

  async #askAll(): Promise<void> {
    const leases = this.#due;
    this.#due = [];
    try {
      const remaining = await this.#ask(leases);
      for (const [index, lease] of leases.entries()) this.#onAnswer(lease, remaining[index]);
    } catch {
      // Either the connection is lost, which watches notice themselves, or the server refuses the
      // question, as it will a read.
      for (const lease of leases) this.#onFailure(lease);
    }
  }

  #onFailure(lease: LeaseId): void {
    const tracked = this.#tracked.get(lease);
    if (tracked === undefined) return;
    this.#schedule(lease, tracked, RETRY_MS);
    for (const listener of [...tracked.listeners]) listener.invalidate();
  }

  #onAnswer(lease: LeaseId, remainingMs: number | undefined): void {
    const tracked = this.#tracked.get(lease);
    if (tracked === undefined) return;
    if (remainingMs !== undefined) return this.#setRemaining(lease, tracked, remainingMs < Infinity ? remainingMs : PERSISTENT_LEASE_MS);
    // A listener that reads meanwhile may find the lease alive, as on a server that replaces this
    // one. Then it is tracked anew.
    this.#tracked.delete(lease);
    for (const listener of [...tracked.listeners]) listener.onLeaseEnded(lease);
  }
}
