import { but, type Mutant } from './mutant.ts';

export const otherMutants: readonly Mutant[] = [
  {
    name: 'too few changes for a claim',
    caughtBy: ['capabilities', 'the limits fit one another, and are enough for an election'],
    wrap: (store) => but(store, { capabilities: { ...store.capabilities, maxChanges: 11 } }),
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
