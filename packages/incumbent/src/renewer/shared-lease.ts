/**
 * What the main thread and the worker know of one lease, in memory that both of them share. Neither
 * waits for the other. All times are in ms on `now()`, a clock that all threads of a process share,
 * and are stored in whole microseconds, rounded down: a renewal then counts from a little earlier.
 */

/** The time on a monotonic clock that is the same in all threads of this process, in ms. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** A renewal that the store has acknowledged. */
export interface SharedRenewal {
  /**
   * The moment from which the store keeps the lease for the whole ttl, by `now()`: the one before
   * the renewal was sent, or an earlier one.
   */
  readonly atMs: number;
  /** The same moment by the wall clock, in ms since the epoch. */
  readonly wallMs: number;
  readonly ttlMs: number;
}

// The 64-bit fields of the shared memory.
const BEAT = 0;
const RENEWED = 1;
const ENDED = 2;
/** How many renewals the worker has published. */
const PUBLISHED = 3;
/** Two slots of three fields: the worker writes the one that the main thread does not read. */
const SLOTS = 4;
const FIELDS = 3;

/** One lease in the memory of both threads. Each thread has an object on the same buffer. */
export class SharedLease {
  /** To be sent to the worker. */
  readonly buffer: SharedArrayBuffer;
  readonly #fields: BigInt64Array;

  /** @param buffer The memory of the other thread. Default: new memory. */
  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer((SLOTS + 2 * FIELDS) * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#fields = new BigInt64Array(buffer);
  }

  /** The main thread's event loop runs. */
  beat(atMs: number): void {
    this.#store(BEAT, atMs);
  }

  /** When the main thread's event loop last ran. */
  get beatMs(): number {
    return this.#load(BEAT);
  }

  /** The main thread has renewed the lease itself, and the renewal counts from this time. */
  renewed(atMs: number): void {
    this.#store(RENEWED, atMs);
  }

  /** The moment from which the newest acknowledged renewal counts, of either thread. */
  get newestMs(): number {
    return Math.max(this.#load(RENEWED), this.latest()?.atMs ?? -Infinity);
  }

  /** The worker must not renew any more. */
  end(): void {
    Atomics.store(this.#fields, ENDED, 1n);
  }

  get isEnded(): boolean {
    return Atomics.load(this.#fields, ENDED) === 1n;
  }

  /** The worker has renewed the lease. Only the worker calls this. */
  publish({ atMs, wallMs, ttlMs }: SharedRenewal): void {
    const next = Atomics.load(this.#fields, PUBLISHED) + 1n;
    const slot = slotOf(next);
    this.#store(slot, atMs);
    this.#store(slot + 1, wallMs);
    this.#store(slot + 2, ttlMs);
    Atomics.store(this.#fields, PUBLISHED, next);
  }

  /** The worker's newest renewal. Undefined if there is none. */
  latest(): SharedRenewal | undefined {
    for (;;) {
      const published = Atomics.load(this.#fields, PUBLISHED);
      if (published === 0n) return undefined;
      const slot = slotOf(published);
      const renewal = { atMs: this.#load(slot), wallMs: this.#load(slot + 1), ttlMs: this.#load(slot + 2) };
      // The worker writes this slot again only after it has published another one.
      if (Atomics.load(this.#fields, PUBLISHED) === published) return renewal;
    }
  }

  #store(field: number, ms: number): void {
    Atomics.store(this.#fields, field, BigInt(Math.floor(ms * 1e3)));
  }

  #load(field: number): number {
    return Number(Atomics.load(this.#fields, field)) / 1e3;
  }
}

function slotOf(published: bigint): number {
  return SLOTS + FIELDS * Number(published % 2n);
}
