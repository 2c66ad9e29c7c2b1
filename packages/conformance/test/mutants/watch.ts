import type { Entry, Store, WatchOptions } from '@incumbent/core';
import { but, type Mutant } from './mutant.ts';

/** The options of a watch that can be aborted, as each case of the suite has. */
type Watched = WatchOptions & { readonly signal: AbortSignal };

/** Changes what a watch yields, for any kind of watch. */
type Bend = <T>(open: (options: WatchOptions) => AsyncIterable<T>, options: Watched) => AsyncIterable<T>;

export const bent = (store: Store, bend: Bend): Store =>
  but(store, {
    watch: (key, options) => bend((inner) => store.watch(key, inner), watched(options)),
    watchList: (prefix, options) => bend((inner) => store.watchList(prefix, inner), watched(options)),
  });

function watched<O extends WatchOptions>(options: O | undefined): O & Watched {
  return { ...options, signal: options?.signal ?? new AbortController().signal } as never;
}

const bentList = (store: Store, bend: (watch: AsyncIterable<readonly Entry[]>) => AsyncIterable<readonly Entry[]>): Store =>
  but(store, { watchList: (...call) => bend(store.watchList(...call)) });

type Entries = readonly Entry[];

/** Shows states between one state of a list and the next, which the list never had. */
const inSteps = (store: Store, between: (former: Entries, entries: Entries) => readonly Entries[]): Store =>
  bentList(store, async function* (watch) {
    let former: Entries = [];
    for await (const entries of watch) {
      yield* between(former, entries);
      yield entries;
      former = entries;
    }
  });

/**
 * Reads a watch as fast as it yields. `take` decides what happens to a state while the consumer
 * waits or is busy.
 */
export async function* eager<T>(
  watch: AsyncIterable<T>,
  take: (queue: T[], state: T, isBusy: boolean) => void,
): AsyncGenerator<T, void, undefined> {
  const queue: T[] = [];
  let isBusy = false;
  let hasEnded = false;
  let wake = (): void => {};
  const read = async (): Promise<void> => {
    for await (const state of watch) {
      take(queue, state, isBusy);
      wake();
    }
  };
  const reading = read().finally(() => {
    hasEnded = true;
    wake();
  });
  while (!hasEnded || queue.length > 0) {
    const [state] = queue;
    if (state === undefined && queue.length === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      continue;
    }
    queue.shift();
    isBusy = true;
    yield state as T;
    isBusy = false;
  }
  await reading;
}

/** Never settles before the signal aborts. */
function forEver(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** What a watch does instead of continuing when its link breaks for the first time. */
function atFirstBreak(store: Store, then: (signal: AbortSignal) => Promise<void>): Store {
  return bent(store, async function* (open, options) {
    const broken = new AbortController();
    const onStale: WatchOptions['onStale'] = (cause) => {
      options.onStale?.(cause);
      broken.abort();
    };
    yield* open({ signal: AbortSignal.any([options.signal, broken.signal]), onStale });
    if (!options.signal.aborted) await then(options.signal);
  });
}

export const watchMutants: readonly Mutant[] = [
  {
    name: 'a watch says nothing of what is there already',
    caughtBy: ['watch', 'the first state is the one that is there now: an entry, as read'],
    wrap: (store) =>
      bent(store, async function* (open, options) {
        let isFirst = true;
        for await (const state of open(options)) {
          if (!isFirst) yield state;
          isFirst = false;
        }
      }),
  },
  {
    name: 'a watch begins with what an earlier one saw',
    caughtBy: ['watch', 'the first state is no older than the watch'],
    wrap: (store) => {
      let cached: Entry | undefined;
      return but(store, {
        async *watch(...call) {
          if (cached !== undefined) yield cached;
          for await (const state of store.watch(...call)) {
            cached = state;
            yield state;
          }
        },
      });
    },
  },
  {
    name: 'a watch reads first, and listens a little later',
    caughtBy: ['watch', 'begun while its key changes, it misses nothing: no gap between the first state and the next'],
    wrap: (store) =>
      but(store, {
        async *watch(key, options) {
          yield await store.read(key, { timeoutMs: 100 });
          let isFirst = true;
          for await (const state of store.watch(key, options)) {
            if (!isFirst) yield state;
            isFirst = false;
          }
        },
      }),
  },
  {
    name: 'a watch that begins with a known revision shows only what changes after it has begun',
    caughtBy: ['watch', 'begun with a known revision, it shows what has changed since then: a change, and a deletion'],
    wrap: (store) =>
      but(store, {
        async *watch(key, { since, ...options } = {}) {
          let skips = since !== undefined;
          for await (const state of store.watch(key, options)) {
            if (!skips) yield state;
            skips = false;
          }
        },
      }),
  },
  {
    name: 'a watch shows every other state',
    caughtBy: ['watch', 'shows creation, change, deletion and creation anew'],
    wrap: (store) =>
      bent(store, async function* (open, options) {
        let count = 0;
        for await (const state of open(options)) if (count++ % 2 === 0) yield state;
      }),
  },
  {
    name: 'a watch misses what happens while its consumer is busy',
    caughtBy: ['watch', 'a slow consumer gets the latest state, not the backlog'],
    wrap: (store) =>
      bent(store, (open, options) =>
        eager(open(options), (queue, state, isBusy) => {
          if (!isBusy) queue.push(state);
        }),
      ),
  },
  {
    name: 'a watch keeps a backlog',
    caughtBy: ['watch', 'a slow consumer gets the latest state, not the backlog'],
    wrap: (store) => bent(store, (open, options) => eager(open(options), (queue, state) => queue.push(state))),
  },
  {
    name: 'a watch of a list keeps a backlog',
    caughtBy: ['watch', 'list: a slow consumer gets the latest state, not the backlog'],
    wrap: (store) => bent(store, (open, options) => eager(open(options), (queue, state) => queue.push(state))),
  },
  {
    name: 'a watch goes back',
    caughtBy: ['watch', 'of 100 quick changes the last is shown, and none is shown after a later one'],
    wrap: (store) =>
      bent(store, async function* (open, options) {
        let former: { readonly state: never } | undefined;
        for await (const state of open(options)) {
          yield state;
          if (former !== undefined) yield former.state;
          yield state;
          former = { state: state as never };
        }
      }),
  },
  {
    name: 'a watch ends with the first one of its client',
    caughtBy: ['watch', 'two watches of one key are two: each shows everything, and the end of one is not the end of the other'],
    wrap: (store) => {
      const any = new AbortController();
      return bent(store, (open, options) => {
        options.signal.addEventListener('abort', () => any.abort(), { once: true });
        return open({ ...options, signal: any.signal });
      });
    },
  },
  {
    name: 'a watch falls silent when its link breaks',
    caughtBy: ['watch', 'it outlives resets: the latest state always comes'],
    wrap: (store) => atFirstBreak(store, forEver),
  },
  {
    name: 'a watch ends when its link breaks',
    caughtBy: ['watch', 'it outlives resets: the latest state always comes'],
    wrap: (store) => atFirstBreak(store, async () => {}),
  },
  {
    name: 'a watch throws when its link breaks',
    caughtBy: ['watch', 'cut off, it says that it is stale; healed, it shows what changed meanwhile'],
    wrap: (store) => atFirstBreak(store, () => Promise.reject(new Error('broken'))),
  },
  {
    name: 'a watch does not say that it is stale',
    caughtBy: ['watch', 'cut off, it says that it is stale; healed, it shows what changed meanwhile'],
    wrap: (store) => bent(store, (open, { signal }) => open({ signal })),
  },
  {
    name: 'a watch takes the answer to a call for a sign of its own life',
    caughtBy: ['watch', 'its server silent for watches alone, it says that it is stale, and then shows what changed meanwhile'],
    wrap: (store) =>
      bent(store, (open, options) => {
        const onStale: WatchOptions['onStale'] = (cause) => {
          store.read('any', { timeoutMs: 100 }).catch(() => options.onStale?.(cause));
        };
        return open({ ...options, onStale });
      }),
  },
  {
    name: 'a watch is stale only when a change was missed',
    caughtBy: [
      'watch',
      'its server silent for watches alone, it says that it is stale even where nothing changes, and then shows the state again',
    ],
    wrap: (store) =>
      but(store, {
        watch: (key, options = {}) => {
          const before = store.read(key, { timeoutMs: 100 });
          const onStale: WatchOptions['onStale'] = (cause) => {
            const states = Promise.all([before, store.read(key, { timeoutMs: 100 })]);
            states.then(
              ([first, now]) => void (first?.revision !== now?.revision && options.onStale?.(cause)),
              () => options.onStale?.(cause),
            );
          };
          return store.watch(key, { ...options, onStale });
        },
      }),
  },
  {
    name: 'a watch that was silent shows nothing any more',
    caughtBy: ['watch', 'its server silent for watches alone, it says that it is stale, and then shows what changed meanwhile'],
    wrap: (store) => atFirstBreak(store, forEver),
  },
  {
    name: 'a watch is silent after an outage when nothing has changed',
    caughtBy: ['watch', 'healed, it shows the state again, though nothing has changed: stale no more'],
    wrap: (store) =>
      bent(store, async function* (open, options) {
        let former: string | undefined;
        for await (const state of open(options)) {
          const shown = JSON.stringify(state, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)) ?? 'none';
          if (shown !== former) yield state;
          former = shown;
        }
      }),
  },
  {
    name: 'an aborted watch throws',
    caughtBy: ['watch', 'aborted while it waits, it ends quietly and at once'],
    wrap: (store) =>
      bent(store, async function* (open, options) {
        yield* open(options);
        options.signal.throwIfAborted();
      }),
  },
  {
    name: 'an abort is noticed with the next state only',
    caughtBy: ['watch', 'aborted while it waits, it ends quietly and at once'],
    wrap: (store) =>
      bent(store, async function* (open, options) {
        for await (const state of open({ ...options, signal: new AbortController().signal })) {
          if (options.signal.aborted) return;
          yield state;
        }
      }),
  },
  {
    name: 'an aborted watch shows one state more',
    caughtBy: ['watch', 'aborted while its consumer is busy, it ends quietly when asked for more, and shows no more'],
    wrap: (store) => bent(store, (open, options) => eager(open(options), (queue, state) => queue.splice(0, 1, state))),
  },
  {
    name: 'a watch leaves a listener on its signal',
    caughtBy: ['watch', 'left by its consumer, it frees what it held, and leaves the signal alone'],
    wrap: (store) =>
      bent(store, (open, options) => {
        options.signal.addEventListener('abort', () => {});
        return open(options);
      }),
  },
  {
    name: 'a watch of a closed store ends quietly',
    caughtBy: ['watch', 'it ends with STORE_CLOSED when its store is closed, waiting or not yet begun'],
    wrap: (store) =>
      bent(store, async function* (open, options) {
        try {
          yield* open(options);
        } catch {
          return;
        }
      }),
  },
  {
    name: 'a list goes key by key when its lease ends',
    caughtBy: ['watch', 'list: all keys of a lease go in one step: revoked, and expired'],
    wrap: (store) =>
      inSteps(store, (former, entries) => {
        const between = Math.max(former.length - 1 - entries.length, 0);
        return Array.from({ length: between }, (_, step) => former.slice(0, former.length - 1 - step));
      }),
  },
  {
    name: 'a list shows a swap key by key',
    caughtBy: ['watch', 'list: shows a swap of several keys whole, or not yet'],
    wrap: (store) =>
      inSteps(store, (former, entries) =>
        former.length === entries.length ? [entries.map((entry, i) => (i === 0 ? entry : (former[i] ?? entry)))] : [],
      ),
  },
  {
    name: 'a watched list is in the order of names',
    caughtBy: ['watch', 'list: shows what is added, changed and removed, in the order of creation'],
    wrap: (store) =>
      bentList(store, async function* (watch) {
        for await (const entries of watch) yield entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
      }),
  },
];
