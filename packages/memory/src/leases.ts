/** The leases of a server, each with the timer that ends it. */

import type { Cancel, Clock, Key, LeaseId } from '@incumbent/core';

export interface ServerLease {
  readonly id: LeaseId;
  /** The number of the client that the lease was granted to. */
  readonly owner: number;
  readonly ttlMs: number;
  /** On the server's monotonic clock. */
  endsAtMs: number;
  readonly keys: Set<Key>;
}

/**
 * The shortest timer for the rest of a lease. With a shorter one, adding the rest to a large clock
 * value would not change it, and the timer would run again and again at one instant.
 */
const MIN_REST_MS = 0.01;

interface Timed {
  readonly lease: ServerLease;
  cancel: Cancel;
}

export class Leases {
  readonly #clock: Clock;
  readonly #expire: (lease: ServerLease) => void;
  readonly #leases = new Map<LeaseId, Timed>();
  #granted = 0;

  /** `expire` is called after a lease has ended by its ttl and was removed. */
  constructor(clock: Clock, expire: (lease: ServerLease) => void) {
    this.#clock = clock;
    this.#expire = expire;
  }

  get(id: LeaseId): ServerLease | undefined {
    return this.#leases.get(id)?.lease;
  }

  all(): readonly ServerLease[] {
    return [...this.#leases.values()].map(({ lease }) => lease);
  }

  grant(ttlMs: number, owner: number): ServerLease {
    this.#granted += 1;
    const id = `lease-${this.#granted}`;
    const lease = { id, owner, ttlMs, endsAtMs: this.#clock.monotonic() + ttlMs, keys: new Set<Key>() };
    this.#leases.set(id, { lease, cancel: this.#schedule(lease) });
    return lease;
  }

  renew(lease: ServerLease): void {
    // The timer stays. When it runs before the new end, it waits for the rest.
    lease.endsAtMs = this.#clock.monotonic() + lease.ttlMs;
  }

  /** Removes a live lease. Undefined: there is no such lease. */
  remove(id: LeaseId): ServerLease | undefined {
    const timed = this.#leases.get(id);
    timed?.cancel();
    this.#leases.delete(id);
    return timed?.lease;
  }

  #schedule(lease: ServerLease): Cancel {
    const restMs = Math.max(lease.endsAtMs - this.#clock.monotonic(), MIN_REST_MS);
    return this.#clock.schedule(restMs, () => this.#onTimer(lease));
  }

  #onTimer(lease: ServerLease): void {
    // A timer of a real clock may run early, and a lease must not.
    if (this.#clock.monotonic() < lease.endsAtMs) {
      const timed = this.#leases.get(lease.id);
      if (timed !== undefined) timed.cancel = this.#schedule(lease);
      return;
    }
    this.#leases.delete(lease.id);
    this.#expire(lease);
  }
}
