/** The leases that a server keeps, each with the timer that ends it. */

import type { Cancel, Clock, Key, LeaseId } from '@incumbent/core';

export interface HeldLease {
  readonly id: LeaseId;
  /** Whose it is: one number per client. */
  readonly owner: number;
  readonly ttlMs: number;
  /** On the server's monotonic clock. */
  endsAtMs: number;
  readonly keys: Set<Key>;
}

const MIN_REST_MS = 0.01;

interface Timed {
  readonly lease: HeldLease;
  cancel: Cancel;
}

export class Leases {
  readonly #clock: Clock;
  readonly #expire: (lease: HeldLease) => void;
  readonly #leases = new Map<LeaseId, Timed>();
  #granted = 0;

  /** `expire` is called when a lease has come to its end, and is no longer here. */
  constructor(clock: Clock, expire: (lease: HeldLease) => void) {
    this.#clock = clock;
    this.#expire = expire;
  }

  get(id: LeaseId): HeldLease | undefined {
    return this.#leases.get(id)?.lease;
  }

  all(): readonly HeldLease[] {
    return [...this.#leases.values()].map(({ lease }) => lease);
  }

  grant(ttlMs: number, owner: number): HeldLease {
    this.#granted += 1;
    const id = `lease-${this.#granted}`;
    const lease = { id, owner, ttlMs, endsAtMs: this.#clock.monotonic() + ttlMs, keys: new Set<Key>() };
    this.#leases.set(id, { lease, cancel: this.#schedule(lease) });
    return lease;
  }

  renew(lease: HeldLease): void {
    // The timer stays: when it fires too early for the new end, it waits for the rest.
    lease.endsAtMs = this.#clock.monotonic() + lease.ttlMs;
  }

  /** Takes a lease out before its time; undefined when it is gone. */
  remove(id: LeaseId): HeldLease | undefined {
    const timed = this.#leases.get(id);
    timed?.cancel();
    this.#leases.delete(id);
    return timed?.lease;
  }

  #schedule(lease: HeldLease): Cancel {
    // Not 0: a rest so small that adding it changes no clock would be waited for again and again.
    const restMs = Math.max(lease.endsAtMs - this.#clock.monotonic(), MIN_REST_MS);
    return this.#clock.schedule(restMs, () => this.#due(lease));
  }

  #due(lease: HeldLease): void {
    // Timers of a real clock may fire a little early, and a lease must not end before its time.
    if (this.#clock.monotonic() < lease.endsAtMs) {
      const timed = this.#leases.get(lease.id);
      if (timed !== undefined) timed.cancel = this.#schedule(lease);
      return;
    }
    this.#leases.delete(lease.id);
    this.#expire(lease);
  }
}
