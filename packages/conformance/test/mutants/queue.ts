import { StoreError, type EnqueueOptions, type Entry, type Store } from '@incumbent/core';
import { but, type Mutant } from './mutant.ts';

export const queueMutants: readonly Mutant[] = [
  {
    name: 'enqueue adds an entry every time',
    caughtBy: ['queue', 'enqueue is idempotent for one name and lease'],
    wrap: (store) => {
      let added = 0;
      return but(store, {
        enqueue: (prefix, name, ...rest) => {
          added += 1;
          return store.enqueue(prefix, `${name}-${added}`, ...rest);
        },
      });
    },
  },
  {
    name: 'enqueue writes its value over what has become of the entry',
    caughtBy: ['queue', 'enqueue answers with the entry that is there, whatever its value has become'],
    wrap: (store) =>
      but(store, {
        enqueue: async (prefix, name, value, lease, options) => {
          const entry = await store.enqueue(prefix, name, value, lease, options);
          await store.compareAndSwap([{ key: entry.key, expect: entry.revision, put: value }], options);
          return (await store.read(entry.key, options)) ?? entry;
        },
      }),
  },
  {
    name: 'enqueue answers with an entry of whatever lease',
    caughtBy: ['queue', 'enqueue never answers with an entry of another lease'],
    wrap: (store) =>
      but(store, {
        enqueue: async (prefix, name, value, lease, options) => {
          const there = (await store.list(prefix, options)).find((entry) => entry.name === name);
          return there ?? store.enqueue(prefix, name, value, lease, options);
        },
      }),
  },
  {
    name: 'an entry of another lease is told as a lease that has ended',
    caughtBy: ['queue', 'enqueue never answers with an entry of another lease'],
    wrap: (store) =>
      but(store, {
        enqueue: (...call) => store.enqueue(...call).catch(() => Promise.reject(new StoreError('LEASE_EXPIRED', 'refused', 'gone'))),
      }),
  },
  {
    name: 'names of dots are written in another way',
    caughtBy: ['queue', 'names may be long and have every allowed character'],
    wrap: (store) =>
      but(store, {
        enqueue: (prefix, name, ...rest) => store.enqueue(prefix, /^\.{1,2}$/.test(name) ? name.replaceAll('.', '~') : name, ...rest),
      }),
  },
  {
    name: 'enqueue shows a look of a moment before',
    caughtBy: ['queue', 'enqueue shows a look of the moment in which it adds the entry, whoever else adds one'],
    wrap: (store) =>
      but(store, {
        enqueue: async (prefix, name, value, lease, options) => {
          const seen = await lookAt(store, prefix, options);
          const entry = await store.enqueue(prefix, name, value, lease, options);
          seen();
          return entry;
        },
      }),
  },
  {
    name: 'enqueue shows a look of a moment after',
    caughtBy: ['queue', 'enqueue shows a look, if it shows any, the entries ahead of the new one and the other key'],
    wrap: (store) =>
      but(store, {
        enqueue: async (prefix, name, value, lease, options) => {
          const entry = await store.enqueue(prefix, name, value, lease, options);
          (await lookAt(store, prefix, options))();
          return entry;
        },
      }),
  },
  {
    name: 'a list is in the order of names',
    caughtBy: ['queue', 'entries stand in the order of their creation, whoever made them'],
    wrap: (store) => withList(store, (entries) => entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))),
  },
  {
    name: 'the last few are the first ones',
    caughtBy: ['queue', 'list: before an entry, the first few, the last few, and both'],
    wrap: (store) =>
      but(store, {
        list: async (prefix, { last, ...options } = {}) => (await store.list(prefix, options)).slice(0, last),
      }),
  },
  {
    name: 'the first few are all',
    caughtBy: ['queue', 'list: before an entry, the first few, the last few, and both'],
    wrap: (store) => but(store, { list: (prefix, { first: _, ...options } = {}) => store.list(prefix, options) }),
  },
  {
    name: 'before is up to',
    caughtBy: ['queue', 'list: before an entry, the first few, the last few, and both'],
    wrap: (store) =>
      but(store, {
        list: async (prefix, { before, last, ...options } = {}) => {
          const entries = (await store.list(prefix, options)).filter((entry) => before === undefined || entry.order <= before.order);
          return last === undefined ? entries : entries.slice(-last);
        },
      }),
  },
  {
    name: 'before is looked up, and not found when it is gone',
    caughtBy: ['queue', 'list: before an entry that is gone, and one that has changed'],
    wrap: (store) =>
      but(store, {
        list: async (prefix, { before, last, ...options } = {}) => {
          const entries = await store.list(prefix, options);
          const end = before === undefined ? entries.length : entries.findIndex((entry) => entry.key === before.key);
          const earlier = entries.slice(0, Math.max(end, 0));
          return last === undefined ? earlier : earlier.slice(-last);
        },
      }),
  },
  {
    name: 'values are always there',
    caughtBy: ['queue', 'list: without values and revisions, all else is there'],
    wrap: (store) => but(store, { list: (prefix, options) => store.list(prefix, { ...options, values: true }) }),
  },
  {
    name: 'a prefix is the beginning of a string',
    caughtBy: ['queue', 'list: what stands under one prefix, at any depth, and under no other that begins alike'],
    wrap: (store, server) =>
      but(store, {
        list: async (prefix, options) => {
          const alike = server.entries().filter((entry) => entry.key.startsWith(`case/one/${prefix}`));
          return (await store.list(prefix, options)).length === 0 ? [] : alike;
        },
      }),
  },
  {
    name: 'each level is listed by itself',
    caughtBy: ['queue', 'list: a key that moves from one level to another is told once, however often it moves'],
    wrap: (store) =>
      but(store, {
        list: async (prefix, options) => {
          const isBelow = ({ key }: Entry): boolean => key.slice(prefix.length + 1).includes('/');
          const upper = (await store.list(prefix, options)).filter((entry) => !isBelow(entry));
          return [...upper, ...(await store.list(prefix, options)).filter(isBelow)];
        },
      }),
  },
  {
    name: 'a list ends after 500 entries',
    caughtBy: ['queue', 'list: all of a queue of 600 entries and 5 MB, or as much as the store says, in order'],
    wrap: (store) => withList(store, (entries) => entries.slice(0, 500)),
  },
];

/** Reads what is to be read. The function that it resolves with shows it. */
async function lookAt(store: Store, prefix: string, options: EnqueueOptions = {}): Promise<() => void> {
  const { look, ...call } = options;
  if (look === undefined) return () => {};
  const [ahead, found] = await Promise.all([store.list(prefix, { ...call, last: look.last, values: false }), store.read(look.key, call)]);
  return () => look.seen(ahead, found);
}

function withList(store: Store, map: (entries: readonly Entry[]) => readonly Entry[]): Store {
  return but(store, { list: async (...call) => map(await store.list(...call)) });
}
