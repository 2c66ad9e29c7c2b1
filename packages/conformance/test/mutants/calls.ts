import { StoreError, type CallOptions, type Entry, type Outcome, type Store } from '@incumbent/core';
import { afterFailedSwap, but, type Mutant } from './mutant.ts';

const LOST_REPLY = 'a swap that was applied and whose answer was lost is unknown, and there: it is not tried again';

/** Reports another outcome than `unknown`. */
const claiming = (store: Store, outcome: Outcome): Store =>
  afterFailedSwap(store, (error) => {
    if (error instanceof StoreError && error.outcome !== 'refused') throw new StoreError(error.code, outcome, error.message);
    throw error;
  });

/** Changes the options of every call. */
const withOptions = (store: Store, map: <O extends CallOptions>(options: O | undefined) => O): Store =>
  but(store, {
    grantLease: (ttlMs, options) => store.grantLease(ttlMs, map(options)),
    renewLease: (lease, options) => store.renewLease(lease, map(options)),
    revokeLease: (lease, options) => store.revokeLease(lease, map(options)),
    compareAndSwap: (changes, options) => store.compareAndSwap(changes, map(options)),
    enqueue: (prefix, name, value, lease, options) => store.enqueue(prefix, name, value, lease, map(options)),
    read: (key, options) => store.read(key, map(options)),
    list: (prefix, options) => store.list(prefix, map(options)),
  });

export const callMutants: readonly Mutant[] = [
  {
    name: 'what nobody knows is called refused',
    caughtBy: ['unknown outcomes', 'a swap that never arrived is unknown, and never applied'],
    wrap: (store) => claiming(store, 'refused'),
  },
  {
    name: 'what nobody knows is called not sent',
    caughtBy: ['unknown outcomes', LOST_REPLY],
    wrap: (store) => claiming(store, 'notSent'),
  },
  {
    name: 'a store that refuses connections is said to have refused the swap',
    caughtBy: [
      'unknown outcomes',
      'a swap towards a store that refuses connections is notSent or unknown, never refused, and never applied',
    ],
    wrap: (store) => claiming(store, 'refused'),
  },
  {
    name: 'an unknown swap is tried again behind the caller’s back',
    caughtBy: ['unknown outcomes', LOST_REPLY],
    wrap: (store) => afterFailedSwap(store, (_, ...swap) => store.compareAndSwap(...swap)),
  },
  {
    name: 'a deletion is tried again behind the caller’s back',
    caughtBy: ['unknown outcomes', 'a swap that deletes a key whose answer is lost: unknown, and there, and right when it is made again'],
    wrap: (store) =>
      afterFailedSwap(store, (error, changes, options) => {
        if (!changes.some((change) => 'delete' in change)) throw error;
        return store.compareAndSwap(changes, options);
      }),
  },
  {
    name: 'a revocation of which nothing was heard is taken for done',
    caughtBy: ['unknown outcomes', 'a revocation that never arrives: unknown, and not there, and right when it is made again'],
    wrap: (store) => but(store, { revokeLease: (...call) => store.revokeLease(...call).catch(() => {}) }),
  },
  {
    name: 'half of a handover is applied',
    caughtBy: ['unknown outcomes', 'a swap that hands over whose answer is lost: unknown, and there, and right when it is made again'],
    wrap: (store) => but(store, { compareAndSwap: (changes, options) => store.compareAndSwap(changes.slice(0, 3), options) }),
  },
  {
    name: 'a call that could not leave is queued until it can',
    caughtBy: [
      'unknown outcomes',
      'a swap towards a store that refuses connections is notSent or unknown, never refused, and never applied',
    ],
    wrap: (store, server) =>
      afterFailedSwap(store, (reason, ...swap) => {
        const again = (): void => void store.compareAndSwap(...swap).catch(() => server.clock.schedule(10, again));
        if (reason instanceof StoreError && reason.outcome === 'notSent') again();
        throw reason;
      }),
  },
  {
    name: 'the timeout is not kept',
    caughtBy: ['unknown outcomes', 'through a dead link every call ends by its timeout, and none says refused'],
    wrap: (store) => withOptions(store, (options) => ({ ...options, timeoutMs: (options?.timeoutMs ?? 2_500) * 20 }) as never),
  },
  {
    name: 'the timeout of a renewal is not kept',
    caughtBy: ['unknown outcomes', 'through a stalled link every call ends by its timeout, and none says refused'],
    wrap: (store) => but(store, { renewLease: (lease, options) => store.renewLease(lease, { ...options, timeoutMs: 60_000 }) }),
  },
  {
    name: 'a call without options fails',
    caughtBy: ['reads', 'every call but a lease call may be made without options, and a lease call without a timeout'],
    wrap: (store) => but(store, { read: async (key, options) => store.read(key, { timeoutMs: options?.timeoutMs ?? -1 }) }),
  },
  {
    name: 'a call without a timeout has none',
    caughtBy: ['unknown outcomes', 'through a stalled link every call without a timeout ends by the default one'],
    wrap: (store) => withOptions(store, (options) => ({ timeoutMs: 600_000, ...options }) as never),
  },
  {
    name: 'an error of no kind comes out',
    caughtBy: ['unknown outcomes', 'a write through a dead link is unknown'],
    wrap: (store) => afterFailedSwap(store, () => Promise.reject(new Error('ETIMEDOUT'))),
  },
  {
    name: 'a client that was reset once stays broken',
    caughtBy: ['unknown outcomes', 'after a fault (refuse) and heal the same client works again, in time'],
    wrap: (store) => {
      let isBroken = false;
      return but(store, {
        read: async (...call) => {
          if (isBroken) throw new StoreError('UNREACHABLE', 'notSent', 'broken for good');
          try {
            return await store.read(...call);
          } catch (error) {
            isBroken = error instanceof StoreError && error.code === 'UNREACHABLE';
            throw error;
          }
        },
      });
    },
  },
  {
    name: 'a signal is not looked at',
    caughtBy: ['abort', 'a call whose signal has aborted rejects with its reason and does nothing'],
    wrap: (store) => withOptions(store, (options) => ({ ...options, signal: undefined }) as never),
  },
  {
    name: 'an aborted call is made all the same',
    caughtBy: ['abort', 'a call whose signal has aborted rejects with its reason and does nothing'],
    wrap: (store) =>
      but(store, {
        compareAndSwap: async (changes, { signal, ...options } = {}) => {
          const result = await store.compareAndSwap(changes, options);
          signal?.throwIfAborted();
          return result;
        },
      }),
  },
  {
    name: 'an abort is noticed with the answer',
    caughtBy: ['abort', 'a call under way rejects with the reason of its signal, at once'],
    wrap: (store) =>
      but(store, {
        list: async (prefix, { signal, ...options } = {}) => {
          signal?.throwIfAborted();
          const entries = await store.list(prefix, options).catch((error: unknown) => {
            signal?.throwIfAborted();
            throw error;
          });
          return entries;
        },
      }),
  },
  {
    name: 'an aborted call rejects with a reason of its own',
    caughtBy: ['abort', 'the reason may be anything'],
    wrap: (store) =>
      but(store, { read: (...call) => store.read(...call).catch(() => Promise.reject(new DOMException('aborted', 'AbortError'))) }),
  },
  {
    name: 'an abort resets the connection',
    caughtBy: ['abort', 'the abort of one call leaves the others alone'],
    wrap: (store) =>
      but(store, {
        read: (key, options) => {
          // Slightly later, so that the aborted call itself ends as it should.
          options?.signal?.addEventListener('abort', () => queueMicrotask(() => store.link.reset()), { once: true });
          return store.read(key, options);
        },
      }),
  },
  {
    name: 'a call leaves a listener on its signal',
    caughtBy: ['abort', '1,000 calls leave no listener on their signal'],
    wrap: (store) =>
      but(store, {
        read: (key, options) => {
          options?.signal?.addEventListener('abort', () => {});
          return store.read(key, options);
        },
      }),
  },
  {
    name: 'a read is answered from a cache',
    caughtBy: ['reads', 'what one client wrote, another reads at once'],
    wrap: (store, server) => {
      const cache = new Map<string, Entry | undefined>();
      return but(store, {
        read: async (key, options) => {
          if (cache.has(key)) return cache.get(key);
          cache.set(key, await store.read(key, options));
          server.clock.schedule(1, () => cache.delete(key));
          return cache.get(key);
        },
      });
    },
  },
  {
    name: 'every other read comes from a replica that lags',
    caughtBy: ['reads', 'a read never shows an older state than one that ended before it began, on whatever client'],
    wrap: (store) => {
      const seen: (Entry | undefined)[] = [];
      return but(store, {
        read: async (...call) => {
          seen.push(await store.read(...call));
          return seen.length % 2 === 0 ? seen.at(-2) : seen.at(-1);
        },
      });
    },
  },
  {
    name: 'a list lags behind',
    caughtBy: ['reads', 'what one client enqueued, another lists at once'],
    wrap: (store) => {
      let former: readonly Entry[] = [];
      return but(store, {
        list: async (...call) => {
          const answer = former;
          former = await store.list(...call);
          return answer;
        },
      });
    },
  },
];

export const closeMutants: readonly Mutant[] = [
  {
    name: 'a closed store says that nobody knows',
    caughtBy: ['close', 'every call after close fails with STORE_CLOSED, notSent'],
    wrap: (store) =>
      but(store, {
        read: (...call) => store.read(...call).catch(() => Promise.reject(new StoreError('STORE_CLOSED', 'unknown', 'closed'))),
      }),
  },
  {
    name: 'a closed store works on',
    caughtBy: ['close', 'disposing is closing'],
    wrap: (store) => but(store, { [Symbol.asyncDispose]: async () => {} }),
  },
  {
    name: 'closing twice is an error',
    caughtBy: ['close', 'closing twice, or twice at once, is closing'],
    wrap: (store) => {
      let isClosed = false;
      return but(store, {
        close: async () => {
          if (isClosed) throw new Error('closed already');
          isClosed = true;
          await store.close();
        },
      });
    },
  },
  {
    name: 'close leaves calls to their timeouts',
    caughtBy: ['close', 'calls under way end with STORE_CLOSED when their store is closed, at once'],
    wrap: (store) => but(store, { close: async () => {} }),
  },
  {
    name: 'close says of every write under way that it was not sent',
    caughtBy: ['close', 'calls made and not awaited before close end, each as what it was'],
    wrap: (store) => {
      const underWay = new Set<Promise<unknown>>();
      let isClosed = false;
      return but(store, {
        compareAndSwap: async (...swap) => {
          const writing = store.compareAndSwap(...swap);
          underWay.add(writing);
          const result = await writing;
          if (isClosed) throw new StoreError('STORE_CLOSED', 'notSent', 'closed');
          return result;
        },
        close: async () => {
          isClosed = true;
          await Promise.allSettled(underWay);
          await store.close();
        },
      });
    },
  },
  {
    name: 'close waits for the server',
    caughtBy: ['close', 'closing through a dead link takes bounded time, and ends its watches'],
    wrap: (store) =>
      but(store, {
        close: async () => {
          await store.read('goodbye', { timeoutMs: 60_000 }).catch(() => {});
          await store.close();
        },
      }),
  },
  {
    name: 'close closes the others too',
    caughtBy: ['close', 'other clients go on'],
    wrap: (store, server) => but(store, { close: () => server.close() }),
  },
  {
    name: 'a timer is left',
    caughtBy: ['close', 'nothing is left behind: no timer, watch or socket'],
    wrap: (store, server) => {
      server.clock.schedule(3_600_000, () => {});
      return store;
    },
  },
];
