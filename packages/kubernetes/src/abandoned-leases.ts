/**
 * Leases that nobody uses and that may exist: one whose grant was never acknowledged, or whose
 * revocation failed. The API server ends no lease by itself, so the store keeps trying to delete
 * them.
 */

import type { Clock } from '@incumbent/core';
import { Backoff, endQuietly, sleep, systemRandom } from '@incumbent/core/adapter';
import { CallTime } from '@incumbent/network';

import { ExchangeError } from './client/failure.ts';

/** Deletes one lease. Resolves with whether it is certainly gone, for ever. */
export type EndLease = (time: CallTime) => Promise<boolean>;

/** The first and the longest pause between two attempts, in ms. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** How long one attempt may take, in ms. */
const ATTEMPT_MS = 5_000;
/** After this time, in ms, the store leaves the lease to observers and operators. */
const GIVE_UP_MS = 600_000;
/** How long {@link AbandonedLeases.close} takes at most, in ms. */
const CLOSE_MS = 500;

export class AbandonedLeases {
  readonly #clock: Clock;
  /** By the names of the leases. */
  readonly #pending = new Map<string, EndLease>();
  /** How to end the leases of {@link during}. */
  readonly #underWay = new Set<EndLease>();
  readonly #closed = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `end` until the lease is gone, the store closes or ten minutes have passed. */
  add(name: string, end: EndLease): void {
    if (this.#closed.signal.aborted || this.#pending.has(name)) return;
    this.#pending.set(name, end);
    void this.#endInTime(name, end);
  }

  /**
   * Settles as `task` does, which makes or ends a lease. If the store closes before, `close` calls
   * `end`.
   */
  async during<T>(end: EndLease, task: () => Promise<T>): Promise<T> {
    this.#underWay.add(end);
    try {
      return await task();
    } finally {
      this.#underWay.delete(end);
    }
  }

  /** Tries once more to end all, within a short time. */
  async close(): Promise<void> {
    endQuietly(this.#closed);
    const time = new CallTime(this.#clock, { timeoutMs: CLOSE_MS }, ExchangeError);
    await Promise.allSettled([...this.#pending.values(), ...this.#underWay].map((end) => end(time)));
    this.#pending.clear();
  }

  async #endInTime(name: string, end: EndLease): Promise<void> {
    const { signal } = this.#closed;
    const endsAtMs = this.#clock.monotonic() + GIVE_UP_MS;
    const backoff = new Backoff(systemRandom, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    while (!signal.aborted && this.#clock.monotonic() < endsAtMs) {
      if (await this.#tryToEnd(end)) break;
      await sleep(this.#clock, backoff.next(), signal);
    }
    // After a close, the last attempt needs the list.
    if (!signal.aborted) this.#pending.delete(name);
  }

  async #tryToEnd(end: EndLease): Promise<boolean> {
    try {
      return await end(new CallTime(this.#clock, { timeoutMs: ATTEMPT_MS, signal: this.#closed.signal, background: true }, ExchangeError));
    } catch {
      // The server may be out of reach for a while.
      return false;
    }
  }
}
