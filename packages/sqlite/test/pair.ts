/**
 * Two stores on one file: one that watches, and another. Time passes only when the test says so.
 */

import type { Entry, Store, WatchOptions } from '@incumbent/core';
import { Recorder } from '@incumbent/test-support/recorder';
import { afterEach, beforeEach, expect, vi } from 'vitest';

import { pass, stopTime } from './manual-time.ts';
import { bytes, CALL, LEASE_CALL, Rig, type Identity } from './rig.ts';
import { Tap } from './tap.ts';

export class Pair implements AsyncDisposable {
  readonly rig: Rig;
  /** The SQL that the store that watches runs. */
  readonly tap: Tap;
  /** The store that watches. */
  readonly store: Store;
  readonly other: Store;
  readonly #watches: Recorder<unknown>[] = [];

  private constructor(rig: Rig, tap: Tap, store: Store, other: Store) {
    this.rig = rig;
    this.tap = tap;
    this.store = store;
    this.other = other;
  }

  /** The store that watches is on a host with this identity. */
  static async open(identity: Partial<Identity> = {}): Promise<Pair> {
    stopTime();
    const [rig, tap] = [new Rig(), new Tap()];
    const store = await rig.open({ connect: tap.connect, host: rig.host(identity) });
    return new Pair(rig, tap, store, await rig.open());
  }

  /** A watch that ends with the pair. */
  follow<T>(watch: (options: WatchOptions) => AsyncIterable<T>): Recorder<T> {
    const recorder = new Recorder(watch);
    this.#watches.push(recorder);
    return recorder;
  }

  /** A watch that has shown its first state. */
  async watch(key: string): Promise<Recorder<Entry | undefined>> {
    return settled(this.follow((options) => this.store.watch(key, options)));
  }

  async watchList(prefix: string): Promise<Recorder<readonly Entry[]>> {
    return settled(this.follow((options) => this.store.watchList(prefix, options)));
  }

  /**
   * Binds a key to a lease of the store that watches: a watch of it does not wait for other stores.
   */
  async own(key: string): Promise<string> {
    const { id } = await this.store.grantLease(86_400_000, LEASE_CALL);
    await put(this.store, key, 'own', id);
    return id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.stop()));
    vi.useRealTimers();
    this.rig[Symbol.dispose]();
  }
}

/** A pair for each test of the file. Returns the pair of the current test. */
export function usePair(identity: Partial<Identity> = {}): () => Pair {
  let pair: Pair;
  beforeEach(async () => {
    pair = await Pair.open(identity);
  });
  afterEach(async () => {
    await pair[Symbol.asyncDispose]();
    vi.restoreAllMocks();
  });
  return () => pair;
}

async function settled<T>(watch: Recorder<T>): Promise<Recorder<T>> {
  await pass(2);
  expect(watch.states.length).toBe(1);
  return watch;
}

/** Creates or replaces a key. */
export async function put(by: Store, key: string, value: string, lease?: string): Promise<void> {
  const current = await by.read(key, CALL);
  const change = { key, expect: current?.revision ?? null, put: bytes(value), ...(lease === undefined ? {} : { lease }) };
  expect((await by.compareAndSwap([change], CALL)).swapped).toBe(true);
}
