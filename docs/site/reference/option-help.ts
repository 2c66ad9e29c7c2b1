/**
 * The options of members, elections and calls. The types make a new option without an entry a
 * compile error, and a test compares names, ranges and defaults with what the code accepts.
 * `pnpm reference` writes docs/reference/options.md from these tables and those of the stores.
 */

import type {
  ElectionAdminOptions,
  ElectionOptions,
  FenceOptions,
  GroupOptions,
  LeadOptions,
  MemberOptions,
  ObserverOptions,
  StoredValueObserverOptions,
  ShutdownOptions,
  SignalOptions,
  SuccessionOptions,
} from 'incumbent';

/** The entry of one option. All texts are Markdown. */
export interface OptionHelp {
  readonly type: string;
  /** A number, or text. Absent if there is no default. */
  readonly fallback?: number | string;
  /** The lowest and the highest number that is accepted, or text for other values. */
  readonly range?: readonly [min: number, max: number | string] | string;
  /** One or two sentences. */
  readonly meaning: string;
  /** The parameter of the URL that sets this option of a store. */
  readonly parameter?: string;
}

/** An entry for every option of an interface. */
export type OptionTable<T> = Readonly<Record<keyof T & string, OptionHelp>>;

const DAY_MS = 86_400_000;
const NAME = '1 to 128 characters of `A-Z a-z 0-9 . _ -`';

const signal: OptionHelp = {
  type: 'AbortSignal',
  meaning: 'Aborts the call, which rejects with the reason of the signal.',
};

export const clock: OptionHelp = {
  type: 'Clock',
  fallback: '`systemClock`',
  meaning: 'The clock, for tests and simulation.',
};

const random: OptionHelp = {
  type: 'Random',
  fallback: '`systemRandom`',
  meaning: 'The random numbers, for tests and simulation.',
};

const callTimeoutMs: OptionHelp = {
  type: 'number',
  fallback: 2_500,
  range: [10, 60_000],
  meaning: 'The most that one call to the store may take, in ms.',
};

const values = {
  parse: {
    type: '(value: unknown) => V, or a Standard Schema',
    meaning: 'Checks each value that is read from the store: a function that returns it or throws.',
  },
  codec: {
    type: '{ encode, decode }',
    fallback: 'JSON',
    meaning: 'Encodes values as bytes instead of JSON. Not together with `parse`.',
  },
};

export const memberOptions: OptionTable<MemberOptions> = {
  memberId: {
    type: 'string',
    fallback: '12 random characters',
    range: NAME,
    meaning:
      'The identity of this process. It must differ between all processes that run at the same ' +
      'time, on all machines. A process that restarts with the same id waits until the lease of ' +
      'its former self has ended.',
  },
  ttlMs: {
    type: 'number',
    fallback: 10_000,
    range: [250, DAY_MS],
    meaning:
      'How long the store keeps the keys of a silent member, in ms: the longest ' +
      '[failover time](../glossary.md#failover-time) after a crash. The store may allow less ' +
      '([the stores](../stores.md)).',
  },
  drainMs: {
    type: 'number',
    fallback: 'a tenth of `ttlMs`',
    range: [0, 'half of `ttlMs`'],
    meaning:
      'How long the work may take to stop after the abort, before the release, in ms. More than ' +
      'about a third of `ttlMs` (a fifth on ZooKeeper) needs a smaller `renewEveryMs` or ' +
      '`callTimeoutMs`.',
  },
  renewEveryMs: {
    type: 'number',
    fallback: 'a third of `ttlMs`',
    range: [10, '`ttlMs`'],
    meaning:
      'The time between two renewals, in ms. On ZooKeeper the default is a little more than a ' +
      'quarter of `ttlMs`.',
  },
  retryEveryMs: {
    type: 'number',
    fallback: 'a twentieth of `ttlMs`',
    range: [5, '`ttlMs`'],
    meaning: 'The delay before a failed renewal is retried, in ms, randomized by ±25 %.',
  },
  callTimeoutMs: {
    type: 'number',
    fallback: 'a quarter of `ttlMs`',
    range: [10, '`ttlMs`'],
    meaning:
      'The most that one call to the store may take, in ms. The default is at most 5,000, and a ' +
      'sixth of `ttlMs` on ZooKeeper. After a call of a campaign has timed out, the next one may ' +
      'take twice as long, up to half of `ttlMs`.',
  },
  clockErrorRatio: {
    type: 'number',
    fallback: 0.01,
    range: [0, 0.1],
    meaning: 'The largest error in the rate of a clock: 0.01 is 1 %.',
  },
  successorClaimTimeoutMs: {
    type: 'number',
    fallback: 'half of `ttlMs`',
    range: [0, '`ttlMs`'],
    meaning:
      'How long other candidates hold back for the successor of a handover, in ms, on stores ' +
      'where ' +
      'a handover takes two steps.',
  },
  onDuplicate: {
    type: "'wait' | 'refuse' | 'replace'",
    fallback: "`'wait'`",
    meaning:
      'What to do if another process holds the member id: wait until its lease has ended, fail ' +
      'with ' +
      '`DUPLICATE_MEMBER` at once, or take the id over.',
  },
  host: {
    type: 'string',
    fallback: 'the host name',
    range: 'up to 255 characters',
    meaning: 'The name of this machine, which `DUPLICATE_MEMBER` shows to another process.',
  },
  reaper: {
    type: 'boolean | Reaper',
    fallback: '`false`',
    meaning:
      'With `true`, a small helper process ends the leases as soon as this process has died ' +
      '([@incumbent/reaper](../../packages/reaper/README.md)).',
  },
  renewIn: {
    type: "'eventLoop' | 'worker'",
    fallback: "`'eventLoop'`",
    meaning:
      "With `'worker'`, a worker thread renews the leases while the event loop is blocked. It " +
      'needs etcd, PostgreSQL, Redis or SQLite, opened by a URL or by options without functions.',
  },
  maxBlockedMs: {
    type: 'number',
    fallback: '3 × `ttlMs`',
    range: '`ttlMs` to 86,400,000',
    meaning:
      "With `renewIn: 'worker'`: after so long a block of the event loop, in ms, the worker " +
      'stops renewing.',
  },
  rebalanceEveryMs: {
    type: 'number',
    fallback: 30_000,
    range: [100, DAY_MS],
    meaning:
      'How often a leader checks whether the succession prefers another candidate, in ms, for a ' +
      'succession with `rebalance: true`. A member that leads several elections checks a tenth ' +
      'of them each time, and all of them after the first that it hands over.',
  },
  logger: {
    type: '{ debug, info, warn, error }',
    fallback: 'warnings of Node',
    meaning:
      'Gets every [event](events.md) of the member. A logger of pino fits. Without one, only ' +
      'what ' +
      'needs attention is printed, once, as a warning of the process.',
  },
  clock,
  random,
};

export const electionOptions: OptionTable<ElectionOptions> = {
  value: {
    type: 'V',
    fallback: 'none',
    meaning: 'What this member publishes while it leads, such as its address. Observers see it.',
  },
  succession: {
    type: 'Succession',
    fallback: '`firstComeFirstServed()`',
    meaning:
      'The order of the candidates: also `byPriority(n)`, `byVersion(version, first)`, ' +
      '`rendezvous()` or `byMemberId(id, compare)`. All candidates use the same kind of order; ' +
      'each has its own `n` or `version` ([example](../guide/which-call.md#priorities)).',
  },
  acceptWeakStore: {
    type: 'string',
    fallback: 'refuses such a store',
    range: "the store's `name`: `'redis'`, `'postgres'` (`fsync` off, or asynchronous standbys)",
    meaning:
      'Accepts a store that is not linearizable. Has no effect on a linearizable store, so a ' +
      'program whose store is configured can always pass it.',
  },
  minTerm: {
    type: 'bigint',
    fallback: '1n',
    range: '1n to `2n ** 61n`',
    meaning:
      'The lowest term that this member claims, for an election that takes over from another ' +
      'system, or whose store has lost its data.',
  },
  onElected: {
    type: '(leadership: Leadership) => unknown',
    meaning:
      'Called when this member is elected, before the work begins. It is not awaited; an error ' +
      'goes ' +
      'to the event `subscriberFailed`.',
  },
  onEnded: {
    type: '(end: LeadershipEnd) => unknown',
    meaning: 'Called when a leadership of this member has ended, in the same way.',
  },
  ...values,
};

export const successionOptions: OptionTable<SuccessionOptions> = {
  rebalance: {
    type: 'boolean',
    fallback: '`false`',
    meaning:
      'With `true`, a leader hands over to a candidate that goes before it, checked every ' +
      '`rebalanceEveryMs`. With `false`, it leads for as long as it can: a candidate with a ' +
      'higher priority waits for the end of that leadership.',
  },
};

export const fenceOptions: OptionTable<FenceOptions> = {
  highest: {
    type: 'bigint',
    fallback: '0n',
    range: '0n to `2n ** 62n`',
    meaning: 'The highest term that the resource has seen, if it is stored elsewhere.',
  },
};

export const leadOptions: OptionTable<LeadOptions> = {
  signal: {
    type: 'AbortSignal',
    meaning: 'Stops the work, resigns, and makes `lead` reject with the reason of the signal.',
  },
  retry: {
    type: 'false | ((error: unknown) => boolean)',
    fallback: '`isRetryable`',
    meaning:
      'After which errors of the work the member campaigns again. By default after an error of ' +
      'the ' +
      'store that may pass. With `false`, every error rejects `lead`.',
  },
  once: {
    type: 'boolean',
    fallback: '`false`',
    meaning:
      'With `true`, the work is called once: a loss or a handover rejects with ' +
      '`LEADERSHIP_ENDED`. ' +
      'Not together with `retry`.',
  },
};

export const signalOptions: OptionTable<SignalOptions> = { signal };

export const shutdownOptions: OptionTable<ShutdownOptions> = {
  handover: {
    type: "'next' | false",
    fallback: "`'next'`",
    meaning: 'Hands each leadership to the next candidate. `false` resigns.',
  },
  timeoutMs: {
    type: 'number',
    fallback: '`drainMs` + 3 × `callTimeoutMs`',
    range: [1, DAY_MS],
    meaning: 'The most that the shutdown may take, in ms.',
  },
};

export const groupOptions: OptionTable<GroupOptions> = {
  value: { type: 'V', fallback: 'none', meaning: 'What this member shows to the others.' },
  ...values,
};

export const observerOptions: OptionTable<ObserverOptions> = {
  callTimeoutMs: { ...callTimeoutMs, meaning: 'The most that one read may take, in ms.' },
  logger: {
    type: '{ debug, info, warn, error }',
    fallback: 'none',
    meaning: 'Gets the [events](events.md) of the observer.',
  },
  clock,
  random,
  ...values,
};

export const storedValueObserverOptions: OptionTable<StoredValueObserverOptions> = {
  maxAgeMs: {
    type: 'number',
    fallback: 5_000,
    range: [100, 600_000],
    meaning:
      'The value counts as unknown once the store has not confirmed it for this long, in ms. ' +
      'The observer reads it about four times in this time.',
  },
  logger: {
    type: '{ debug, info, warn, error }',
    fallback: 'none',
    meaning: 'Gets the [events](events.md) of the observer.',
  },
  clock,
  random,
  ...values,
};

export const adminOptions: OptionTable<ElectionAdminOptions> = {
  callTimeoutMs,
  ...values,
};
