/**
 * Revokes leases on the parent's stores. The adapter's module of a store is loaded when the parent
 * announces the store; a connection is made only for the first revocation.
 */

import type { Clock, OpenRevoker, Revoker } from '@incumbent/core';
import { isRetryable } from '@incumbent/core/adapter';

import { pause } from './pause.ts';

export interface StoreAccess {
  readonly store: number;
  readonly module: string;
  readonly access: string;
}

export interface RevocableLease {
  readonly store: number;
  readonly ticket: string;
}

/** Loads an adapter's module by its URL. */
export type Load = (module: string) => Promise<OpenRevoker>;

/** Time limit of one call, in ms. */
const CALL_TIMEOUT_MS = 2_000;

/** Pause between two attempts, in ms: the first, and the longest. */
const FIRST_RETRY_MS = 20;
const LONGEST_RETRY_MS = 1_000;

export class Revokers {
  readonly #clock: Clock;
  readonly #load: Load;
  readonly #stores = new Map<number, StoreAccess>();
  readonly #revokers = new Map<number, Promise<Revoker>>();

  constructor(clock: Clock, load: Load) {
    this.#clock = clock;
    this.#load = load;
  }

  /**
   * Loads the store's module. Sends nothing. A load that fails is tried again at the first
   * revocation.
   */
  prepare(access: StoreAccess): void {
    this.#stores.set(access.store, access);
    this.#revoker(access.store).catch(() => {});
  }

  /** Forgets a store whose leases are all gone. */
  drop(store: number): void {
    this.#stores.delete(store);
    const revoker = this.#revokers.get(store);
    this.#revokers.delete(store);
    revoker?.then((opened) => opened.close()).catch(() => {});
  }

  /**
   * Retries until `limit` on the clock. Resolves in three cases: the lease is revoked; `limit` has
   * passed; or the store refuses for good, as without permission. Never rejects.
   */
  async revoke({ store, ticket }: RevocableLease, limit: number): Promise<void> {
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_RETRY_MS)) {
      const leftMs = limit - this.#clock.monotonic();
      if (leftMs <= 0) return;
      try {
        const revoker = await this.#revoker(store);
        await revoker.revoke(ticket, { timeoutMs: Math.min(CALL_TIMEOUT_MS, leftMs) });
        return;
      } catch (error) {
        if (!isRetryable(error)) return;
      }
      await pause(this.#clock, waitMs);
    }
  }

  async close(): Promise<void> {
    const opened = await Promise.allSettled(this.#revokers.values());
    await Promise.allSettled(opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value.close()] : [])));
  }

  #revoker(store: number): Promise<Revoker> {
    const known = this.#revokers.get(store);
    if (known !== undefined) return known;
    const opened = this.#open(store);
    this.#revokers.set(store, opened);
    opened.catch(() => this.#revokers.delete(store));
    return opened;
  }

  async #open(store: number): Promise<Revoker> {
    const access = this.#stores.get(store);
    if (access === undefined) throw new RangeError(`the parent has announced no store ${store}`);
    const openRevoker = await this.#load(access.module);
    return openRevoker(access.access);
  }
}
