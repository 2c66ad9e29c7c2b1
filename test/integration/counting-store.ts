/** A store that counts the requests that core makes, whatever an adapter makes of them. */

import type { Store } from '@incumbent/core';

export interface Counts {
  /** Unary calls without renewals. A watch counts as one, for its first read. */
  requests: number;
  renewals: number;
}

export function counting(store: Store, counts: Counts): Store {
  const count = (): void => {
    counts.requests += 1;
  };
  return {
    name: store.name,
    capabilities: store.capabilities,
    grantLease: (...args) => (count(), store.grantLease(...args)),
    renewLease: (...args) => {
      counts.renewals += 1;
      return store.renewLease(...args);
    },
    revokeLease: (...args) => (count(), store.revokeLease(...args)),
    compareAndSwap: (...args) => (count(), store.compareAndSwap(...args)),
    enqueue: (...args) => (count(), store.enqueue(...args)),
    read: (...args) => (count(), store.read(...args)),
    list: (...args) => (count(), store.list(...args)),
    watch: (...args) => (count(), store.watch(...args)),
    watchList: (...args) => (count(), store.watchList(...args)),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  };
}
