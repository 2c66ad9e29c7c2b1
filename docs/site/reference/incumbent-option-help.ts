/** The options of what opens a store, and of `withLock`, as in option-help.ts. */

import type {
  ElectionOptions,
  LeadOptions,
  LeadUrlOptions,
  LockOptions,
  MemberOptions,
  OpenStoreOptions,
} from 'incumbent';

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
