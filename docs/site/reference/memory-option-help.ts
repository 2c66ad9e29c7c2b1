/** The options of the memory store, as in option-help.ts. */

import type { ConnectOptions, MemoryOptions, MemoryServerOptions } from '@incumbent/memory';
import type { OptionHelp, OptionTable } from './option-help.ts';
import { clock, namespace } from './store-option-parts.ts';

const latencyMs: OptionHelp = {
  type: 'number | ((message: Message) => number)',
  fallback: 0,
  range: [0, Infinity],
  meaning: 'The time that a message takes in each direction, in ms. `Infinity` loses it.',
};

export const memoryOptions: OptionTable<MemoryOptions & ConnectOptions> = {
  name: {
    type: 'string',
    fallback: 'a server of its own',
    range: '1 to 128 characters of `A-Z a-z 0-9 . _ -`',
    meaning: 'The stores of one name in this process share one server: `memory:name`.',
  },
  namespace: {
    ...namespace,
    fallback: 'none',
    meaning: 'The prefix of all keys: `memory:name/namespace`.',
  },
  latencyMs,
  clock: { ...clock, meaning: 'The clock of this client, for tests.' },
  server: {
    type: 'MemoryServerOptions',
    meaning: 'The server, if this store is the first one of its name: the options below.',
  },
};

export const memoryServerOptions: OptionTable<MemoryServerOptions> = {
  clock: { ...clock, meaning: 'The clock by which leases expire, for tests.' },
  minTtlMs: {
    type: 'number',
    fallback: 1,
    range: [1, 86_400_000],
    meaning: 'The shortest ttl that the server grants, in ms.',
  },
  maxTtlMs: {
    type: 'number',
    fallback: 86_400_000,
    range: [1, 86_400_000],
    meaning: 'The longest ttl that the server grants, in ms.',
  },
  maxChanges: {
    type: 'number',
    fallback: 128,
    range: [1, 10_000],
    meaning: 'The most changes of one swap.',
  },
  maxValueBytes: {
    type: 'number',
    fallback: 2 ** 20,
    range: [1, 2 ** 30],
    meaning: 'The most bytes of one value.',
  },
  maxKeysPerLease: {
    type: 'number',
    fallback: 100_000,
    range: [1, 1_000_000],
    meaning: 'The most keys of one lease. The server only declares it.',
  },
  assignableLease: {
    type: 'boolean',
    fallback: '`true`',
    meaning: "With `false`, the server refuses to bind a key to another client's lease.",
  },
  revisionsSurviveDeletion: {
    type: 'boolean',
    fallback: '`true`',
    meaning: 'With `false`, revisions start again when a key is created again.',
  },
  swapSharesRevision: {
    type: 'boolean',
    fallback: '`true`',
    meaning: 'With `false`, every key of a swap gets a revision of its own.',
  },
  linearizable: {
    type: 'boolean',
    fallback: '`true`',
    meaning: 'With `false`, an election needs `acceptWeakStore`. The server only declares it.',
  },
  termSource: {
    type: "'counter' | 'clock'",
    fallback: "`'counter'`",
    meaning: 'Where terms come from. The server only declares it.',
  },
  endsEarly: {
    type: 'string',
    fallback: 'none',
    meaning: 'Why the server may end leases early. The server only declares it.',
  },
};
