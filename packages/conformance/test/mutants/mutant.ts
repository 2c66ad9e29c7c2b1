/** A store that breaks one guarantee, and the case that must notice. */

import type { Area } from '@incumbent/conformance';
import type { Store } from '@incumbent/core';
import type { MemoryServer, MemoryServerOptions, MemoryStore } from '@incumbent/memory';

export interface Mutant {
  /** The mistake of the store. */
  readonly name: string;
  readonly caughtBy: readonly [Area, string];
  readonly server?: MemoryServerOptions;
  wrap(store: MemoryStore, server: MemoryServer): Store;
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
