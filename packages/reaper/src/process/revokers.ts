/** The stores that the parent's leases are on: each one's adapter is loaded when it is told of, and connects when it first has to. */

import type { Clock, OpenRevoker, Revoker } from '@incumbent/core';
import { isRetryable } from '@incumbent/core/adapter';

import { pause } from './pause.ts';

export interface StoreTold {
  readonly store: number;
  readonly module: string;
  readonly access: string;
}

export interface LeaseTold {
  readonly store: number;
  readonly ticket: string;
}

/** Loads an adapter's module by its URL. */
export type Load = (module: string) => Promise<OpenRevoker>;

/** One call may take so long, in ms; then it is tried again. */
const CALL_MS = 2_000;

/** Between two tries, in ms: at first, and at last. */
const FIRST_PAUSE_MS = 20;
const LAST_PAUSE_MS = 1_000;

export class Revokers {
  readonly #clock: Clock;
  readonly #load: Load;
  readonly #told = new Map<number, StoreTold>();
  readonly #open = new Map<number, Promise<Revoker>>();

  constructor(clock: Clock, load: Load) {
    this.#clock = clock;
    this.#load = load;
  }

  /** Loads what it takes. Nothing is sent. What fails is tried again when it is needed. */
  prepare(told: StoreTold): void {
    this.#told.set(told.store, told);
    this.#revoker(told.store).catch(() => {});
  }

  /** Resolves when the lease is gone; or when it has ended by itself, at `overBy` on the clock; or when the store will not have it ended. */
  async revoke({ store, ticket }: LeaseTold, overBy: number): Promise<void> {
    for (let waitMs = FIRST_PAUSE_MS; ; waitMs = Math.min(2 * waitMs, LAST_PAUSE_MS)) {
      const leftMs = overBy - this.#clock.monotonic();
      if (leftMs <= 0) return;
      try {
        const revoker = await this.#revoker(store);
        await revoker.revoke(ticket, { timeoutMs: Math.min(CALL_MS, leftMs) });
        return;
      } catch (error) {
        if (!isRetryable(error)) return;
      }
      await pause(this.#clock, waitMs);
    }
  }

  async close(): Promise<void> {
    const open = await Promise.allSettled(this.#open.values());
    await Promise.allSettled(open.flatMap((one) => (one.status === 'fulfilled' ? [one.value.close()] : [])));
  }

  #revoker(store: number): Promise<Revoker> {
    const before = this.#open.get(store);
    if (before !== undefined) return before;
    const opened = this.#opened(store);
    this.#open.set(store, opened);
    opened.catch(() => this.#open.delete(store));
    return opened;
  }

  async #opened(store: number): Promise<Revoker> {
    const told = this.#told.get(store);
    if (told === undefined) throw new RangeError(`no store ${store} was told of`);
    const openRevoker = await this.#load(told.module);
    return openRevoker(told.access);
  }
}
