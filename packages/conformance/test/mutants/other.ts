import { StoreError } from '@incumbent/core';
import { but, type Mutant } from './mutant.ts';

export const otherMutants: readonly Mutant[] = [
  {
    name: 'too few changes for a claim',
    caughtBy: ['capabilities', 'the limits fit one another, and are enough for an election'],
    wrap: (store) => but(store, { capabilities: { ...store.capabilities, maxChanges: 11 } }),
  },
  {
    name: 'a weak store gives no reason',
    caughtBy: ['capabilities', 'a store says how it may lose a write if, and only if, it is not linearizable'],
    wrap: (store) => but(store, { capabilities: { ...store.capabilities, linearizable: false } }),
  },
  {
    name: 'the namespace is a URL',
    caughtBy: ['capabilities', 'its namespace, if it has one, is a path, and the same for two clients'],
    wrap: (store) => but(store, { namespace: 'memory://user:password@host' }),
  },
  {
    name: 'a lease is said to be gone before its time',
    caughtBy: ['capabilities', 'a lease may last as long as its ttl, and longer for a longer one'],
    wrap: (store) => but(store, { capabilities: { ...store.capabilities, expiresWithinMs: (ttlMs) => ttlMs * 0.9 } }),
  },
  {
    name: 'a list of no entries is allowed',
    caughtBy: ['reads', 'refuses wrong keys, names, counts and timeouts as mistakes, and does nothing'],
    wrap: (store) => but(store, { list: async (prefix, options) => (options?.first === 0 ? [] : store.list(prefix, options)) }),
  },
  {
    name: 'a timeout of 0 is none at all',
    caughtBy: ['reads', 'refuses wrong keys, names, counts and timeouts as mistakes, and does nothing'],
    wrap: (store) =>
      but(store, {
        revokeLease: (lease, options) => store.revokeLease(lease, options?.timeoutMs === 0 ? {} : options),
      }),
  },
  {
    name: 'a wrong key is refused as if the store had refused it',
    caughtBy: ['reads', 'refuses wrong keys, names, counts and timeouts as mistakes, and does nothing'],
    wrap: (store) =>
      but(store, {
        read: (...call) => store.read(...call).catch(() => Promise.reject(new StoreError('STORE_FAILED', 'refused', 'a bad request'))),
      }),
  },
  {
    name: 'a watch is told by clients only of what they did',
    caughtBy: ['operator', 'a key that an operator deletes is gone for reads, swaps and watches, and its lease lives on'],
    wrap: (store, server) =>
      but(store, {
        async *watch(...call) {
          let known = -1;
          for await (const state of store.watch(...call)) {
            const { compareAndSwap } = server.requests;
            if (compareAndSwap !== known) yield state;
            known = compareAndSwap;
          }
        },
      }),
  },
];
