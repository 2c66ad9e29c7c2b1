/** A store that really loses one write of the case's choice, on a link with faults. */

import {
  outcomeOf,
  type CallOptions,
  type Change,
  type Entry,
  type Key,
  type KeyWatchOptions,
  type Lease,
  type LeaseId,
  type LeaseOptions,
  type ListOptions,
  type Outcome,
  type Renewal,
  type Store,
  type StoreCapabilities,
  type SwapResult,
  type WatchOptions,
} from '@incumbent/core';
import type { FaultyClient, StoreHarness } from '../harness.ts';
import { loseNext, type Loss } from '../lost-write.ts';

/** A write, as far as cases distinguish them. */
export type Write =
  | { readonly operation: 'grantLease' | 'renewLease' | 'revokeLease' | 'enqueue' }
  | { readonly operation: 'compareAndSwap'; readonly changes: readonly Change[] };

export class LossyStore implements Store {
  readonly name: string;
  readonly capabilities: StoreCapabilities;
  readonly #client: FaultyClient;
  readonly #harness: StoreHarness;
  readonly #lost = Promise.withResolvers<void>();
  #next: { readonly loss: Loss; readonly isIt: (write: Write) => boolean } | undefined;
  #outcome: Outcome | 'answered' | undefined;

  constructor(client: FaultyClient, harness: StoreHarness) {
    this.#client = client;
    this.#harness = harness;
    this.name = client.store.name;
    this.capabilities = client.store.capabilities;
  }

  /**
   * Loses the next write for which `isIt` is true. The link is healed as soon as the caller knows
   * that the outcome is unknown.
   */
  lose(loss: Loss, isIt: (write: Write) => boolean): void {
    this.#next = { loss, isIt };
  }

  /** Resolves when the selected write has been made. */
  get lost(): Promise<void> {
    return this.#lost.promise;
  }

  /**
   * The outcome that the caller received. `answered`: another answer was lost instead. Undefined:
   * the write has not been made.
   */
  get outcome(): Outcome | 'answered' | undefined {
    return this.#outcome;
  }

  grantLease(ttlMs: number, options: LeaseOptions): Promise<Lease> {
    return this.#write({ operation: 'grantLease' }, () => this.#client.store.grantLease(ttlMs, options));
  }

  renewLease(lease: LeaseId, options: LeaseOptions): Promise<Renewal> {
    return this.#write({ operation: 'renewLease' }, () => this.#client.store.renewLease(lease, options));
  }

  revokeLease(lease: LeaseId, options?: CallOptions): Promise<void> {
    return this.#write({ operation: 'revokeLease' }, () => this.#client.store.revokeLease(lease, options));
  }

  compareAndSwap(changes: readonly Change[], options?: CallOptions): Promise<SwapResult> {
    return this.#write({ operation: 'compareAndSwap', changes }, () => this.#client.store.compareAndSwap(changes, options));
  }

  enqueue(prefix: Key, name: string, value: Uint8Array, lease: LeaseId, options?: CallOptions): Promise<Entry> {
    return this.#write({ operation: 'enqueue' }, () => this.#client.store.enqueue(prefix, name, value, lease, options));
  }

  read(key: Key, options?: CallOptions): Promise<Entry | undefined> {
    return this.#client.store.read(key, options);
  }

  list(prefix: Key, options?: ListOptions): Promise<readonly Entry[]> {
    return this.#client.store.list(prefix, options);
  }

  watch(key: Key, options?: KeyWatchOptions): AsyncIterable<Entry | undefined> {
    return this.#client.store.watch(key, options);
  }

  watchList(prefix: Key, options?: WatchOptions): AsyncIterable<readonly Entry[]> {
    return this.#client.store.watchList(prefix, options);
  }

  close(): Promise<void> {
    return this.#client.store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #write<T>(write: Write, call: () => Promise<T>): Promise<T> {
    if (this.#next?.isIt(write) !== true) return call();
    const { loss } = this.#next;
    this.#next = undefined;
    const { faults } = this.#client;
    await loseNext(loss, faults, this.#harness);
    try {
      const answer = await call();
      this.#outcome = 'answered';
      return answer;
    } catch (error) {
      this.#outcome = outcomeOf(error);
      throw error;
    } finally {
      await faults.heal();
      this.#lost.resolve();
    }
  }
}
