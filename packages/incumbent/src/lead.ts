/** `lead(url, …)`: a whole program of one election in one call. */

import type { ElectionOptions, LeadOptions, Leadership, StopSignal } from '@incumbent/core';
import { checkFunction, checkName, checkSignal, endByDefault, invalidSecret, isStore } from '@incumbent/core/adapter';
import { Member, memberOptionNames, type MemberOptions } from './member.ts';
import { openStore, type OpenStoreOptions, type StoreOpener } from './open-store.ts';
import { checkStopOn, stopOnSignals } from './stop-on.ts';

/**
 * The options of {@link lead}: those of `openStore`, of `Member`, of `member.election` and of
 * `election.lead`, and `stopOn`.
 */
export interface LeadUrlOptions<V = unknown> extends OpenStoreOptions, MemberOptions, ElectionOptions<V>, LeadOptions {
  /**
   * Signals on which the member shuts down as by `member.shutdownOn`: it hands over, and `lead`
   * resolves with undefined. A second signal ends the process. Default `['SIGTERM', 'SIGINT']`.
   * `[]` leaves the signals alone, for a program that handles them itself: it aborts `signal`.
   */
  readonly stopOn?: readonly StopSignal[] | undefined;
}

type Owner = 'openStore' | 'election' | 'lead';

/** The calls that get each option that is not one of the member's. */
const owners: Readonly<Record<Exclude<keyof LeadUrlOptions, keyof MemberOptions>, readonly Owner[]>> = {
  waitMs: ['openStore'],
  onRetry: ['openStore'],
  signal: ['openStore', 'lead'],
  once: ['lead'],
  retry: ['lead'],
  stopOn: [],
  value: ['election'],
  succession: ['election'],
  minTerm: ['election'],
  acceptWeakStore: ['election'],
  onElected: ['election'],
  onEnded: ['election'],
  parse: ['election'],
  codec: ['election'],
};

/**
 * Opens the store that the URL names or the function opens, campaigns in the election, and runs
 * `work` while this process leads, as `election.lead` does. Then resigns, closes the member and the
 * store, and resolves with what the work returned. Closes both as well when it rejects.
 *
 * Resolves with undefined when the process is asked to stop (see `stopOn`). A stop while the store
 * is still being opened ends the process as if it were not handled, also a process that is PID 1.
 *
 * For several elections on one store, or with a store that is open, open the store once: `new
 * Member(store).election(name).lead(work)`.
 *
 * @throws As `openStore`, `new Member`, `member.election` and `election.lead` do. `WEAK_STORE` on
 *   Redis, unless `acceptWeakStore` is `'redis'`. `INVALID_OPTION`, also for an unknown option.
 */
export async function lead<T, V = unknown>(
  url: string | URL | StoreOpener,
  election: string,
  work: (leadership: Leadership<V>) => Promise<T> | T,
  options: LeadUrlOptions<V> = {},
): Promise<T | undefined> {
  checkName('election', election);
  checkFunction('work', work);
  checkSignal(
    options,
    [...Object.keys(owners), ...memberOptionNames].filter((name) => name !== 'signal'),
  );
  const { stopOn = ['SIGTERM', 'SIGINT'] } = options;
  checkStopOn(stopOn);
  if (isStore(url)) throw invalidSecret('url', url, WITH_OPEN_STORE, 'an open store');
  if (stopOn.length > 0) endByDefault(stopOn);
  const store = await openStore(url, pick(options, namesOf('openStore')));
  try {
    const member = new Member(store, pick(options, memberOptionNames));
    try {
      stopOnSignals(member, stopOn);
      return await member.election(election, pick(options, namesOf('election'))).lead(work, pick(options, namesOf('lead')));
    } finally {
      await member.close();
    }
  } finally {
    await store.close();
  }
}

const WITH_OPEN_STORE = 'a URL, or a function that opens a store. With an open store, call new Member(store).election(name).lead(work)';

/** The names of the options that this call gets. */
function namesOf(owner: Owner): readonly string[] {
  return Object.entries(owners).flatMap(([name, calls]) => (calls.includes(owner) ? [name] : []));
}

/** The options with these names. */
function pick<V>(options: LeadUrlOptions<V>, names: readonly string[]): LeadUrlOptions<V> {
  return Object.fromEntries(Object.entries(options).filter(([name]) => names.includes(name)));
}
