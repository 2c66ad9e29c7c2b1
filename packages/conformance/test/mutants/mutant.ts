/** A store that breaks one guarantee, and the case that must notice. */

import type { Area } from '@incumbent/conformance';
import type { Entry, Store, SwapResult } from '@incumbent/core';
import type { MemoryServer, MemoryServerOptions, MemoryStore } from '@incumbent/memory';

export interface Mutant {
  /** The mistake of the store. */
  readonly name: string;
  readonly caughtBy: readonly [Area, string];
  readonly server?: MemoryServerOptions;
  wrap(store: MemoryStore, server: MemoryServer): Store;
}

type Swap = Parameters<Store['compareAndSwap']>;

/** The store, but for what follows a swap that failed. */
export function afterFailedSwap(store: Store, then: (error: unknown, ...swap: Swap) => Promise<SwapResult>): Store {
  return but(store, { compareAndSwap: (...swap) => store.compareAndSwap(...swap).catch((error: unknown) => then(error, ...swap)) });
}

/** The store, but for what its reads show. */
export function readsAs(store: Store, show: (entry: Entry | undefined) => Entry | undefined): Store {
  return but(store, { read: async (...call) => show(await store.read(...call)) });
}

/** The store with some of its methods replaced. */
export function but(store: Store, changes: Partial<Store>): Store {
  return {
    name: store.name,
    capabilities: store.capabilities,
    grantLease: (ttlMs, options) => store.grantLease(ttlMs, options),
    renewLease: (lease, options) => store.renewLease(lease, options),
    revokeLease: (lease, options) => store.revokeLease(lease, options),
    compareAndSwap: (changed, options) => store.compareAndSwap(changed, options),
    enqueue: (prefix, name, value, lease, options) => store.enqueue(prefix, name, value, lease, options),
    read: (key, options) => store.read(key, options),
    list: (prefix, options) => store.list(prefix, options),
    watch: (key, options) => store.watch(key, options),
    watchList: (prefix, options) => store.watchList(prefix, options),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    ...changes,
  };
}
