/** The options of what opens a store, and of `withLock`, as in option-help.ts. */

import type {
  ElectionOptions,
  LeadOptions,
  LeadUrlOptions,
  LockOptions,
  MemberOptions,
  OpenStoreOptions,
} from 'incumbent';
import type { HostOptions } from 'incumbent/host';

import type { OptionTable } from './option-help.ts';

const DAY_MS = 86_400_000;

export const openStoreOptions: OptionTable<OpenStoreOptions> = {
  waitMs: {
    type: 'number',
    fallback: 0,
    range: [0, Infinity],
    meaning:
      'How long to try again while the store cannot be reached, in ms. With 0, the first failure ' +
      'rejects.',
  },
  onRetry: {
    type: '(error: unknown) => void',
    meaning: 'Called with the error of each attempt that is followed by another.',
  },
  signal: {
    type: 'AbortSignal',
    meaning: 'Aborts the wait. An attempt under way goes on until it has an answer.',
  },
};

type OfOthers =
  | keyof OpenStoreOptions
  | keyof MemberOptions
  | keyof ElectionOptions
  | keyof LeadOptions;

/** Those that `lead(url, …)` does not pass on to another call. */
export const leadUrlOptions: OptionTable<Omit<LeadUrlOptions, OfOthers>> = {
  stopOn: {
    type: 'StopSignal[]',
    fallback: "`['SIGTERM', 'SIGINT']`",
    range: 'signals that ask a process to stop',
    meaning:
      'The signals on which the member hands over and `lead` resolves with undefined. `[]` ' +
      'leaves ' +
      'the signals to the program.',
  },
};

/** Those that `withLock` does not pass on to another call. */
export const lockOptions: OptionTable<Omit<LockOptions, Exclude<OfOthers, 'signal'>>> = {
  acquireTimeoutMs: {
    type: 'number',
    fallback: 'no limit',
    range: [1, DAY_MS],
    meaning:
      'The most that the wait for the lock may take, in ms. Then `withLock` leaves the queue and ' +
      'rejects with a `DOMException` whose name is `TimeoutError`. To leave takes up to ' +
      '`drainMs + 3 × callTimeoutMs` if the store cannot be reached. The work is not limited.',
  },
  stopOn: {
    type: 'StopSignal[]',
    fallback: '`[]`',
    range: 'signals that ask a process to stop',
    meaning:
      'The signals on which `withLock` stops as by an abort of `signal`, and rejects with a ' +
      '`DOMException` whose name is `AbortError`.',
  },
  signal: {
    type: 'AbortSignal',
    meaning: 'Gives up: aborts `lock.signal`, waits for the work, releases the lock, and rejects.',
  },
};

export const hostOptions: OptionTable<HostOptions> = {
  store: {
    type: 'string | URL | () => Promise<Store> | Store',
    meaning:
      'What `openStore` opens, and the host closes; or an open store, which you close yourself.',
  },
  waitMs: {
    ...openStoreOptions.waitMs,
    fallback: 30_000,
    meaning:
      'How long to try again while the store cannot be reached, in ms. The first failure goes to ' +
      '`member.logger`, if there is one. Leave it out for an open store.',
  },
  signal: openStoreOptions.signal,
  onRetry: {
    ...openStoreOptions.onRetry,
    meaning:
      'Called with the error of each attempt that is followed by another. Leave it out for an ' +
      'open store.',
  },
  member: { type: 'MemberOptions', meaning: 'The options of the `Member`.' },
  acceptWeakStore: {
    type: 'string',
    fallback: 'refuses such a store',
    range: 'the `name` of the store',
    meaning: 'Accepts a store that is not linearizable, in all elections of the host.',
  },
  onFailure: {
    type: '(failure: { election, error }) => unknown',
    meaning:
      'Called when this process takes no further part in an election, because of an error. ' +
      'Required.',
  },
};
