/**
 * A store whose calls a case intercepts: to delay them, to lose their answers, or to do something
 * at that moment.
 */

import { StoreError, type Change, type Key, type Store } from '@incumbent/core';

/** One call that is about to be made. */
export interface StoreCall {
  readonly operation: 'grantLease' | 'renewLease' | 'revokeLease' | 'compareAndSwap' | 'enqueue' | 'read' | 'list';
  /**
   * The keys of the call: those of a swap, the key of a read, the prefix of a queue or list. Empty
   * for leases.
   */
  readonly keys: readonly Key[];
  /** The changes of a swap. Empty for other calls. */
  readonly changes: readonly Change[];
}

/**
 * Decides whether to make the call, by calling `go`. The caller of the store receives the result of
 * this function.
 */
export type Interceptor = <T>(call: StoreCall, go: () => Promise<T>) => Promise<T>;

/**
 * The same store, with every call passed to `meet`. Watches are not intercepted. `enqueue` does not
 * look: each read is a call of its own on every store.
 */
export function intercept(store: Store, meet: Interceptor): Store {
  const about = (operation: StoreCall['operation'], ...keys: readonly Key[]): StoreCall => ({ operation, keys, changes: [] });
  return {
    name: store.name,
    capabilities: store.capabilities,
    grantLease: (...args) => meet(about('grantLease'), () => store.grantLease(...args)),
    renewLease: (...args) => meet(about('renewLease'), () => store.renewLease(...args)),
    revokeLease: (...args) => meet(about('revokeLease'), () => store.revokeLease(...args)),
    compareAndSwap: (changes, options) =>
      meet({ operation: 'compareAndSwap', keys: changes.map(({ key }) => key), changes }, () => store.compareAndSwap(changes, options)),
    enqueue: (prefix, name, value, lease, { look: _, ...options } = {}) =>
      meet(about('enqueue', prefix), () => store.enqueue(prefix, name, value, lease, options)),
    read: (key, options) => meet(about('read', key), () => store.read(key, options)),
    list: (prefix, options) => meet(about('list', prefix), () => store.list(prefix, options)),
    watch: (...args) => store.watch(...args),
    watchList: (...args) => store.watchList(...args),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/**
 * The same store, whose lists fail after a call of `blind`. A leader on it does not find its
 * successor in advance. It would otherwise hand over when it resigns, if its term has lasted for a
 * second, as on a slow store.
 */
export function blindable(store: Store): { readonly store: Store; blind(): void } {
  let isBlind = false;
  return {
    store: intercept(store, ({ operation }, go) =>
      isBlind && operation === 'list' ? Promise.reject(new StoreError('UNAVAILABLE', 'notSent', 'planted: no look at the queue')) : go(),
    ),
    blind: () => {
      isBlind = true;
    },
  };
}
