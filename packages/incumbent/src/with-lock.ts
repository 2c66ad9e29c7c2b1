/** A lock for one piece of work, by an election of its own. */

import type { ElectionOptions, Leadership, SignalOptions, StopSignal, Store } from '@incumbent/core';
import { systemClock } from '@incumbent/core';
import { checkFunction, checkName, checkNumber, checkSignal, onAbort } from '@incumbent/core/adapter';
import { lockMembers } from './lock-members.ts';
import { Member, memberOptionNames, type MemberOptions } from './member.ts';
import { checkStopOn, stopOnSignals } from './stop-on.ts';

/** The lock that the work holds. */
export interface Lock extends Pick<Leadership, 'guard' | 'swap'> {
  /**
   * The fencing token: higher than that of every earlier holder of this lock. Send it with every
   * write to a resource that is not the store, and let the resource refuse a lower one than it has
   * seen (see `Fence`).
   */
  readonly term: bigint;
  /** Aborts when the lock is lost, before anybody else can get it, or when the caller gives up. */
  readonly signal: AbortSignal;
  /**
   * True while nobody else can hold the lock. Synchronous. Ask directly before an act that cannot
   * be undone.
   */
  isValid(): boolean;
  /** @throws `LEADERSHIP_ENDED` if `isValid()` is false. */
  assertValid(): void;
}

/** The options of {@link withLock}. */
export interface LockOptions
  extends
    Omit<MemberOptions, 'memberId' | 'onDuplicate' | 'host' | 'rebalanceEveryMs'>,
    Pick<ElectionOptions, 'acceptWeakStore'>,
    SignalOptions {
  /**
   * The most that the wait for the lock may take, in ms; it does not limit the work. From 1 to
   * 86,400,000. Then `withLock` leaves the queue and rejects with a `TimeoutError`. To leave takes
   * up to `drainMs + 3 × callTimeoutMs` if the store cannot be reached. Default: no limit.
   */
  readonly acquireTimeoutMs?: number | undefined;
  /**
   * Signals on which `withLock` stops as by an abort of `signal`, and rejects with an `AbortError`.
   * A second signal ends the process. Default `[]`: `withLock` listens to no signal.
   */
  readonly stopOn?: readonly StopSignal[] | undefined;
}

/** The options of a lock that are not those of its member, besides `signal`. */
const ownOptions: Readonly<Record<Exclude<keyof LockOptions, keyof MemberOptions | 'signal'>, true>> = {
  acquireTimeoutMs: true,
  stopOn: true,
  acceptWeakStore: true,
};

/** The options of a member that a lock does not have. */
const leftOut: Readonly<Record<Exclude<keyof MemberOptions, keyof LockOptions>, true>> = {
  memberId: true,
  onDuplicate: true,
  host: true,
  rebalanceEveryMs: true,
};

/** The names of the options besides `signal`. */
const names = [...Object.keys(ownOptions), ...memberOptionNames.filter((name) => !Object.hasOwn(leftOut, name))];

/**
 * Waits for the lock, runs `work(lock)` while it holds the lock, releases it, and resolves with
 * what the work returned. The lock is renewed until the work has settled; there is nothing to
 * extend. If this process dies, the lock is free after `ttlMs` (10 s by default) at the latest.
 *
 * If the lock is lost, `lock.signal` aborts, and `withLock` rejects with `LEADERSHIP_ENDED` once
 * the work has stopped. It never calls the work a second time. Aborting `options.signal` aborts
 * `lock.signal` too, waits for the work for `drainMs` at most, releases the lock, and rejects with
 * the signal's reason.
 *
 * The lock is the election `key`, held by a member of its own: two calls exclude each other also
 * within one process, and `incumbent status` shows who holds the lock. A key has 1 to 128
 * characters of `A-Z a-z 0-9 . _ -`. The store keeps the last term of each key for ever, so use a
 * bounded set of keys: one per job or resource, not one per request.
 *
 * @throws As the work does, and as `election.lead` does. `INVALID_NAME` for the key.
 *   `INVALID_OPTION`, also for an unknown option. `WEAK_STORE` on Redis, unless `acceptWeakStore`
 *   is `'redis'`.
 */
export async function withLock<T>(store: Store, key: string, work: (lock: Lock) => Promise<T> | T, options: LockOptions = {}): Promise<T> {
  checkName('key', key);
  checkFunction('work', work);
  const signal = checkSignal(options, names);
  const { acquireTimeoutMs, acceptWeakStore, stopOn = [], signal: _signal, ...memberOptions } = options;
  checkStopOn(stopOn);
  const timeoutMs = checkNumber('acquireTimeoutMs', acquireTimeoutMs, Infinity, { min: 1, max: 86_400_000 });
  const member = new Member(store, memberOptions);
  lockMembers.add(member.incarnation);
  const halt = new AbortController();
  const stopListening = onAbort(signal, () => halt.abort(signal?.reason));
  const expire = (): void => halt.abort(new DOMException(`the lock "${key}" was not free within ${timeoutMs} ms`, 'TimeoutError'));
  const stopTimer = acquireTimeoutMs === undefined ? () => {} : (options.clock ?? systemClock).schedule(timeoutMs, expire);
  const run = async (lock: Lock): Promise<{ readonly value: T }> => {
    stopTimer();
    return { value: await work(lock) };
  };
  try {
    stopOnSignals(member, stopOn);
    const election = member.election(key, { acceptWeakStore });
    const done = await election.lead(run, { once: true, signal: halt.signal });
    // Only the end of the member resolves without a value, and only `stopOn` ends this member.
    if (done === undefined) throw new DOMException('the process was asked to stop', 'AbortError');
    return done.value;
  } finally {
    stopTimer();
    stopListening();
    await member.close();
    lockMembers.delete(member.incarnation);
  }
}
