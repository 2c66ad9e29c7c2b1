import type { Store, WatchOptions } from '@incumbent/core';
import type { MemoryServer } from '@incumbent/memory';
import { but, type Mutant } from './mutant.ts';

type Open<T> = (path: string, options?: WatchOptions) => AsyncIterable<T>;

/**
 * The watches of one path share what the server has sent to any of them, and process it a little
 * later. A watch begins with the state that another open one has processed last.
 */
function sharing<T>(open: Open<T>, { clock }: MemoryServer): Open<T> {
  const latest = new Map<string, { readonly state: T }>();
  const watches = new Map<string, number>();
  const count = (path: string, change: number): void => {
    const left = (watches.get(path) ?? 0) + change;
    watches.set(path, left);
    if (left === 0) latest.delete(path);
  };
  return async function* (path, options) {
    count(path, 1);
    try {
      const known = latest.get(path);
      if (known !== undefined) yield known.state;
      for await (const state of open(path, options)) {
        clock.schedule(1, () => watches.get(path) !== 0 && latest.set(path, { state }));
        yield state;
      }
    } finally {
      count(path, -1);
    }
  };
}

function sharingStore(store: Store, server: MemoryServer): Store {
  return but(store, {
    watch: sharing((key, options) => store.watch(key, options), server),
    watchList: sharing((prefix, options) => store.watchList(prefix, options), server),
  });
}

export const sharedWatchMutants: readonly Mutant[] = [
  {
    name: 'a second watch of a key begins with the last state that the first one was sent',
    caughtBy: ['watch', 'the first state is no older than the watch, though another watch of the key may have an older one'],
    wrap: sharingStore,
  },
  {
    name: 'a second watch of a list begins with the last state that the first one was sent',
    caughtBy: ['watch', 'list: the first state is no older than the watch, though another watch of the prefix may have an older one'],
    wrap: sharingStore,
  },
];
