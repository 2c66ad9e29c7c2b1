/**
 * When the leases of watched keys end. Nobody tells that: a server does away with what has expired when it comes across it. So each store counts the time
 * that a lease has left, and when it is over asks the server, once for a lease, how much it has now. Where it is gone, the asking removes its keys, which
 * is told to everybody; others who were about to ask need not: a little chance spreads them.
 */

import type { Cancel, Clock, LeaseId } from '@incumbent/core';
import { systemRandom } from '@incumbent/core/adapter';

import type { Row } from '../namespace.ts';

/** How far those who watch one lease are spread, in ms. */
const SPREAD_MS = 20;

/** After a question that failed. */
const RETRY_MS = 250;

/** A lease that an operator has made last may be given a time again, or be deleted, which nobody tells. */
const LASTING_MS = 10_000;

/** Who wants to know when a lease is gone. */
export interface Bereaved {
  drop(lease: LeaseId): void;
  /** Nobody knows whether a lease is. */
  doubt(): void;
}

interface Followed {
  dueAtMs: number;
  readonly watches: Set<Bereaved>;
  cancel: Cancel;
}

/** How many ms each lease has left: undefined where it is gone, Infinity where it lasts. */
export type AskLefts = (leases: readonly LeaseId[]) => Promise<readonly (number | undefined)[]>;

export class Expiries {
  readonly #clock: Clock;
  readonly #ask: AskLefts;
  readonly #followed = new Map<LeaseId, Followed>();
  readonly #leasesOf = new Map<Bereaved, ReadonlySet<LeaseId>>();
  #due: LeaseId[] = [];

  constructor(clock: Clock, ask: AskLefts) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /** From now on this watch depends on the leases of these rows, and no others. */
  follow(watch: Bereaved, rows: Iterable<Row>): void {
    const before = this.#leasesOf.get(watch);
    const now = new Set<LeaseId>();
    for (const { entry, leftMs } of rows) {
      if (entry.lease === undefined) continue;
      if (!now.has(entry.lease)) this.#add(watch, entry.lease, leftMs, before?.has(entry.lease) === true);
      now.add(entry.lease);
    }
    for (const lease of before ?? []) if (!now.has(lease)) this.#remove(watch, lease);
    if (now.size > 0) this.#leasesOf.set(watch, now);
    else this.#leasesOf.delete(watch);
  }

  /** The lease was renewed by this store: it lives for so long. */
  extend(lease: LeaseId, ttlMs: number): void {
    const followed = this.#followed.get(lease);
    if (followed !== undefined) followed.dueAtMs = Math.max(followed.dueAtMs, this.#clock.monotonic() + ttlMs);
  }

  /** What is known of one that is followed already is newer than what a row told once. */
  #add(watch: Bereaved, lease: LeaseId, leftMs: number | undefined, isKnown: boolean): void {
    const known = this.#followed.get(lease);
    if (known !== undefined) {
      known.watches.add(watch);
      const dueAtMs = this.#clock.monotonic() + (leftMs ?? 0);
      if (!isKnown && dueAtMs > known.dueAtMs) known.dueAtMs = dueAtMs;
      return;
    }
    const followed: Followed = { dueAtMs: 0, watches: new Set([watch]), cancel: () => {} };
    this.#followed.set(lease, followed);
    this.#expect(lease, followed, leftMs ?? LASTING_MS);
  }

  #remove(watch: Bereaved, lease: LeaseId): void {
    const followed = this.#followed.get(lease);
    followed?.watches.delete(watch);
    if (followed?.watches.size !== 0) return;
    followed.cancel();
    this.#followed.delete(lease);
  }

  #expect(lease: LeaseId, followed: Followed, leftMs: number): void {
    followed.dueAtMs = this.#clock.monotonic() + leftMs;
    this.#schedule(lease, followed, leftMs);
  }

  /** A server's millisecond may end later than ours. */
  #schedule(lease: LeaseId, followed: Followed, delayMs: number): void {
    const spreadMs = 1 + (systemRandom.u32() / 2 ** 32) * SPREAD_MS;
    followed.cancel();
    followed.cancel = this.#clock.schedule(delayMs + spreadMs, () => this.#onTime(lease, followed));
  }

  #onTime(lease: LeaseId, followed: Followed): void {
    const leftMs = followed.dueAtMs - this.#clock.monotonic();
    if (leftMs > 0) return this.#schedule(lease, followed, leftMs);
    if (this.#due.length === 0) queueMicrotask(() => void this.#askAll());
    this.#due.push(lease);
  }

  async #askAll(): Promise<void> {
    const leases = this.#due;
    this.#due = [];
    try {
      const lefts = await this.#ask(leases);
      for (const [index, lease] of leases.entries()) this.#hear(lease, lefts[index]);
    } catch {
      // The link is lost, which the watches hear of themselves; or the server does not answer as it should, which they find out.
      for (const lease of leases) this.#doubt(lease);
    }
  }

  #doubt(lease: LeaseId): void {
    const followed = this.#followed.get(lease);
    if (followed === undefined) return;
    this.#schedule(lease, followed, RETRY_MS);
    for (const watch of [...followed.watches]) watch.doubt();
  }

  #hear(lease: LeaseId, leftMs: number | undefined): void {
    const followed = this.#followed.get(lease);
    if (followed === undefined) return;
    if (leftMs !== undefined) return this.#expect(lease, followed, leftMs < Infinity ? leftMs : LASTING_MS);
    // Whoever looks meanwhile may find that it lives on, as on a server that takes this one's place: then it is followed anew.
    this.#followed.delete(lease);
    for (const watch of [...followed.watches]) watch.drop(lease);
  }
}
