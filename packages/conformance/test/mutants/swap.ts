import { StoreError, type Change, type LeaseId, type Store, type SwapResult } from '@incumbent/core';
import { afterFailedSwap, but, readsAs, type Mutant } from './mutant.ts';

const ALL_OR_NOTHING = 'two keys: all or nothing, for every mix of expectation and action';

export const swapMutants: readonly Mutant[] = [
  {
    name: 'a swap of several keys is several swaps',
    caughtBy: ['compareAndSwap', ALL_OR_NOTHING],
    wrap: (store) =>
      but(store, {
        compareAndSwap: async (changes, options) => {
          const results = await Promise.all(changes.map((change) => store.compareAndSwap([change], options)));
          const failed = results.flatMap((result, index) => (result.swapped ? [] : [{ index, current: result.failed[0]?.current }]));
          if (failed.length > 0) return { swapped: false, failed };
          return { swapped: true, revisions: results.flatMap((result) => (result.swapped ? result.revisions : [])) };
        },
      }),
  },
  {
    name: 'the bytes are looked at after the call',
    caughtBy: ['compareAndSwap', 'writes what it was given at the call, though the caller uses the bytes again'],
    wrap: (store) =>
      but(store, {
        compareAndSwap: async (changes, options) => {
          await Promise.resolve();
          return store.compareAndSwap(changes, options);
        },
      }),
  },
  {
    name: 'a swap looks first and writes later',
    caughtBy: ['compareAndSwap', 'of 16 swaps at once on one revision, exactly one wins'],
    wrap: (store, server) =>
      but(store, {
        compareAndSwap: async (changes, options) => {
          const checked = await store.compareAndSwap(
            changes.map(({ key, expect }) => ({ key, expect })),
            options,
          );
          if (!checked.swapped) return checked;
          for (const change of changes) if ('put' in change) server.put(`case/one/${change.key}`, change.put);
          const written = await Promise.all(changes.map(({ key }) => store.read(key, options)));
          return { swapped: true, revisions: written.map((entry) => entry?.revision) };
        },
      }),
  },
  {
    name: 'the keys that a swap only compares are compared before the swap',
    caughtBy: ['compareAndSwap', 'of two swaps at once, each on condition of a key that the other writes, exactly one is made'],
    wrap: (store) => comparesFirst(store, isCheck),
  },
  {
    name: 'the absence of a key that a swap does not write is checked before the swap',
    caughtBy: ['compareAndSwap', 'of two swaps at once, each on condition that the key of the other is absent, exactly one is made'],
    wrap: (store) => comparesFirst(store, (change) => isCheck(change) && change.expect === null),
  },
  {
    name: 'a refused swap does not say what failed',
    caughtBy: ['compareAndSwap', ALL_OR_NOTHING],
    wrap: (store) => but(store, { compareAndSwap: async (...call) => withFailed(await store.compareAndSwap(...call), () => []) }),
  },
  {
    name: 'a refused swap blames every change',
    caughtBy: ['compareAndSwap', ALL_OR_NOTHING],
    wrap: (store) =>
      but(store, {
        compareAndSwap: async (changes, options) =>
          withFailed(await store.compareAndSwap(changes, options), () => changes.map((_, index) => ({ index, current: undefined }))),
      }),
  },
  {
    name: 'a refused swap does not say what is there',
    caughtBy: ['compareAndSwap', 'refuses a swap at an old revision, and says what is there'],
    wrap: (store) =>
      but(store, {
        compareAndSwap: async (...call) =>
          withFailed(await store.compareAndSwap(...call), (failed) => failed.map(({ index }) => ({ index, current: undefined }))),
      }),
  },
  {
    name: 'checks are forgotten beside a put',
    caughtBy: ['compareAndSwap', ALL_OR_NOTHING],
    wrap: (store) =>
      but(store, {
        compareAndSwap: async (changes, options) => {
          const writes = changes.filter((change) => 'put' in change || 'delete' in change);
          return store.compareAndSwap(writes.length > 0 ? writes : changes, options);
        },
      }),
  },
  {
    name: 'revisions are those of the puts alone, in a row',
    caughtBy: ['compareAndSwap', ALL_OR_NOTHING],
    wrap: (store) =>
      but(store, {
        compareAndSwap: async (...call) => {
          const result = await store.compareAndSwap(...call);
          return result.swapped ? { ...result, revisions: result.revisions.filter((revision) => revision !== undefined) } : result;
        },
      }),
  },
  {
    name: 'a put of the same value is left out',
    caughtBy: ['compareAndSwap', 'a revision changes with every change, to the same value too'],
    wrap: (store) =>
      but(store, {
        compareAndSwap: async (changes, options) => {
          const [change] = changes;
          if (change === undefined || !('put' in change) || changes.length > 1) return store.compareAndSwap(changes, options);
          const current = await store.read(change.key, options);
          const isSame = current?.revision === change.expect && current !== undefined && Buffer.compare(current.value, change.put) === 0;
          return isSame ? { swapped: true, revisions: [current.revision] } : store.compareAndSwap(changes, options);
        },
      }),
  },
  {
    name: 'revisions restart, and the capabilities deny it',
    caughtBy: ['compareAndSwap', 'a key that is made again never has a revision that it had before'],
    server: { revisionsSurviveDeletion: false },
    wrap: (store) => Object.assign(but(store, {}), { capabilities: { ...store.capabilities, revisionsSurviveDeletion: true } }),
  },
  {
    name: 'an empty value is taken for no key',
    caughtBy: ['compareAndSwap', 'an empty value is a value'],
    wrap: (store) => readsAs(store, (entry) => (entry?.value.length === 0 ? undefined : entry)),
  },
  {
    name: 'values pass through text',
    caughtBy: ['compareAndSwap', 'a value may hold every byte'],
    wrap: (store) =>
      readsAs(store, (entry) => entry && { ...entry, value: new TextEncoder().encode(new TextDecoder().decode(entry.value)) }),
  },
  {
    name: 'a put without a lease unbinds',
    caughtBy: ['compareAndSwap', 'a put keeps the binding, asked to or not'],
    wrap: (store) => withChanges(store, (change) => ('put' in change && change.lease === undefined ? { ...change, lease: null } : change)),
  },
  {
    name: 'a put keeps the binding to a lease of the same client only',
    caughtBy: ['compareAndSwap', 'a put of another client keeps the binding to a lease that is not its own'],
    server: { assignableLease: false },
    wrap: (store) => {
      const own = new Set<LeaseId>();
      return but(store, {
        grantLease: async (...call) => {
          const lease = await store.grantLease(...call);
          own.add(lease.id);
          return lease;
        },
        compareAndSwap: async (changes, options) => {
          const kept = changes.map(async (change) => {
            if (!('put' in change) || (change.lease ?? 'keep') !== 'keep') return change;
            const current = await store.read(change.key, options);
            return current?.lease === undefined || own.has(current.lease) ? change : { ...change, lease: null };
          });
          return store.compareAndSwap(await Promise.all(kept), options);
        },
      });
    },
  },
  {
    name: 'null keeps the binding',
    caughtBy: ['compareAndSwap', 'a put with null unbinds: the key survives its former lease'],
    wrap: (store) => withChanges(store, (change) => ('put' in change && change.lease === null ? { ...change, lease: 'keep' } : change)),
  },
  {
    name: 'a put under a lease that is gone writes a key that stays for ever',
    caughtBy: ['compareAndSwap', 'refuses a swap that binds to a lease that was revoked, and changes nothing'],
    wrap: (store) =>
      afterFailedSwap(store, (error, changes, options) => {
        if (!(error instanceof StoreError) || error.code !== 'LEASE_EXPIRED') throw error;
        const loose = changes.map((change) => ('put' in change ? { ...change, lease: null } : change));
        return store.compareAndSwap(loose, options);
      }),
  },
  {
    name: 'a lease is looked at first and bound to later',
    caughtBy: ['compareAndSwap', 'a key that is bound while its lease is revoked never outlives it'],
    wrap: (store, server) =>
      but(store, {
        compareAndSwap: async (changes, options) => {
          const isLive = ({ lease }: { readonly lease?: unknown }): boolean => server.leases().some(({ id }) => id === lease);
          const loose = changes.map((change) => ('put' in change && isLive(change) ? { ...change, lease: null } : change));
          const result = await store.compareAndSwap(loose, options);
          if (!result.swapped) return result;
          const bound = changes.map((change, i) => ({ ...change, expect: result.revisions[i] ?? null }));
          return store.compareAndSwap(bound, options);
        },
      }),
  },
  {
    name: 'a value beyond the limit is unknown',
    caughtBy: ['compareAndSwap', 'refuses a value beyond maxValueBytes as TOO_LARGE, and changes nothing'],
    wrap: (store) =>
      afterFailedSwap(store, (error) => {
        if (error instanceof StoreError && error.code === 'TOO_LARGE') throw new StoreError('STORE_FAILED', 'unknown', 'too large');
        throw error;
      }),
  },
  {
    name: 'the same key twice is taken',
    caughtBy: ['compareAndSwap', 'refuses no changes at all, and the same key twice, as mistakes'],
    wrap: (store) =>
      but(store, {
        compareAndSwap: (changes, options) =>
          store.compareAndSwap([...new Map(changes.map((change) => [change.key, change])).values()], options),
      }),
  },
  {
    name: 'a key is a part of a URL, which resolves dots',
    caughtBy: ['compareAndSwap', 'keys may have every allowed character, long names and depth'],
    wrap: (store) => but(store, { read: (key, options) => store.read(new URL(key, 'http://store/').pathname.slice(1), options) }),
  },
];

function isCheck(change: Change): boolean {
  return !('put' in change || 'delete' in change);
}

/** Compares these keys in a step of its own, before the swap. */
function comparesFirst(store: Store, isEarly: (change: Change) => boolean): Store {
  return but(store, {
    compareAndSwap: async (changes, options) => {
      const [early, others] = [changes.filter(isEarly), changes.filter((change) => !isEarly(change))];
      if (early.length === 0 || others.length === 0) return store.compareAndSwap(changes, options);
      const compared = await store.compareAndSwap(early, options);
      if (!compared.swapped) return compared;
      const written = await store.compareAndSwap(others, options);
      if (!written.swapped) return written;
      return { swapped: true, revisions: changes.map((change) => written.revisions[others.indexOf(change)]) };
    },
  });
}

type Failed = Extract<SwapResult, { swapped: false }>['failed'];

function withFailed(result: SwapResult, change: (failed: Failed) => Failed): SwapResult {
  return result.swapped ? result : { swapped: false, failed: change(result.failed) };
}

function withChanges(store: Parameters<typeof but>[0], map: (change: Change) => Change): ReturnType<typeof but> {
  return but(store, { compareAndSwap: (changes, options) => store.compareAndSwap(changes.map(map), options) });
}
