/**
 * One watch of an election for all its observers in this process and on one open store: any number
 * of observers costs the store one watch.
 */

import { endQuietly, onAbort } from '../async/abort.ts';
import { type Backoff, watchBackoff } from '../async/backoff.ts';
import { sleep } from '../async/sleep.ts';
import type { Cancel, Clock } from '../base/clock.ts';
import { isIncumbentError } from '../base/errors.ts';
import { fraction, type Random } from '../base/random.ts';
import type { ElectionKeys } from '../protocol/keys.ts';
import type { Key, Store } from '../store/contract.ts';
import { LeaderStateReader, isSameState, type LeaderState, VacancyTimer } from './leader-state.ts';
import { LeaderWatch, type LeaderWatchContext } from './leader-watch.ts';

/**
 * Receives the states of an election. Every state is at least as new as the moment of subscribing.
 */
export interface ElectionListener {
  changed(state: LeaderState): void;
  /** The last state can no longer be confirmed. */
  stale(cause: unknown): void;
}

/** What a shared watch needs. */
export interface SharedWatchContext {
  readonly store: Store;
  readonly keys: ElectionKeys;
  readonly clock: Clock;
  readonly random: Random;
  readonly callTimeoutMs: number;
}

/** Restart the watch after this many reads were overtaken by events. */
const MAX_READS = 3;

/**
 * How often a read checks that the watch still works, in ms: a server may stop serving watches
 * while it still answers reads.
 */
const CHECK_EVERY_MS = 15_000;
/** The longest random addition to that time, as a fraction of it, so that not all read at once. */
const CHECK_SPREAD = 0.25;

const sharedWatches = new WeakMap<Store, Map<Key, Set<SharedElectionWatch>>>();

/**
 * Calls the listener with every state from now on. The returned function ends the subscription. If
 * no other listener is left, the watch ends too, and the promise resolves when it has ended.
 */
export function subscribe(context: SharedWatchContext, listener: ElectionListener): () => Promise<void> {
  const { store, keys } = context;
  const ofStore = sharedWatches.get(store) ?? new Map<Key, Set<SharedElectionWatch>>();
  sharedWatches.set(store, ofStore);
  const same = ofStore.get(keys.leader) ?? new Set<SharedElectionWatch>();
  ofStore.set(keys.leader, same);
  const forget = (shared: SharedElectionWatch): void => {
    same.delete(shared);
    if (same.size === 0 && ofStore.get(keys.leader) === same) ofStore.delete(keys.leader);
  };
  const shared = [...same].find((other) => other.serves(context)) ?? new SharedElectionWatch(context, forget);
  same.add(shared);
  return shared.join(listener);
}

/** The watch of one election, restarted as often as needed, and its listeners. */
class SharedElectionWatch {
  readonly #context: SharedWatchContext & LeaderWatchContext;
  readonly #forget: (shared: SharedElectionWatch) => void;
  readonly #backoff: Backoff;
  readonly #listeners = new Set<ElectionListener>();
  /** Listeners that have received no state yet. The known state may be older than they need. */
  readonly #newcomers = new Set<ElectionListener>();
  readonly #closed = new AbortController();
  #watching: Promise<void> | undefined;
  /** The present watch, or the one that has just ended. */
  #watch: LeaderWatch | undefined;
  /** The watch that a read is checking. */
  #checked: LeaderWatch | undefined;
  /** Set while the watch has failed. Aborting it retries at once. */
  #pause: AbortController | undefined;
  #seen: LeaderState | undefined;
  /** True if the listeners know that nothing confirms the last state. */
  #isLost = false;
  /** Rises whenever the listeners are called, so that an older round of calls stops. */
  #notification = 0;
  #cancelCheck: Cancel = () => {};

  constructor(context: SharedWatchContext, forget: (shared: SharedElectionWatch) => void) {
    const { store, keys, clock, random, callTimeoutMs } = context;
    const reader = new LeaderStateReader(store, keys, callTimeoutMs);
    this.#context = { ...context, reader, vacancies: new VacancyTimer(clock) };
    this.#forget = forget;
    this.#backoff = watchBackoff(random);
  }

  /** True if an observer with this context can share the watch. */
  serves({ clock, callTimeoutMs }: SharedWatchContext): boolean {
    return clock === this.#context.clock && callTimeoutMs === this.#context.callTimeoutMs;
  }

  join(listener: ElectionListener): () => Promise<void> {
    this.#listeners.add(listener);
    this.#newcomers.add(listener);
    if (this.#watching === undefined) this.#watching = this.#keepWatching();
    // An earlier failure says nothing about the store's present state.
    else if (this.#pause !== undefined) endQuietly(this.#pause);
    else {
      const lost = this.#watch?.lost;
      if (lost !== undefined) listener.stale(lost.cause);
      void this.#readAgain();
    }
    return () => this.#leave(listener);
  }

  async #leave(listener: ElectionListener): Promise<void> {
    this.#listeners.delete(listener);
    this.#newcomers.delete(listener);
    if (this.#listeners.size > 0) return;
    this.#forget(this);
    this.#closed.abort();
    await this.#watching;
  }

  #checkLater(): void {
    const { clock, random } = this.#context;
    const delayMs = CHECK_EVERY_MS * (1 + CHECK_SPREAD * fraction(random));
    this.#cancelCheck = clock.schedule(delayMs, () => {
      this.#checkLater();
      void this.#readAgain({ isCheck: true });
    });
  }

  /** Retries the watch after every error, also a permanent one, until the store is closed. */
  async #keepWatching(): Promise<void> {
    const { signal } = this.#closed;
    this.#checkLater();
    onAbort(signal, () => this.#cancelCheck());
    while (!signal.aborted) {
      const pause = new AbortController();
      try {
        if ((await this.#runWatch(signal)) === 'restart') continue;
        this.#pause = pause;
      } catch (error) {
        this.#pause = pause;
        const isOver = isIncumbentError(error, 'STORE_CLOSED');
        if (isOver) {
          this.#forget(this);
          this.#cancelCheck();
        }
        this.#lose(error);
        if (isOver) return;
      }
      const stop = onAbort(signal, () => endQuietly(pause));
      await sleep(this.#context.clock, this.#backoff.next(), pause.signal);
      this.#pause = undefined;
      stop();
    }
  }

  /** The states of a watch are new enough for the listeners that are there when it starts. */
  #runWatch(signal: AbortSignal): Promise<'restart' | void> {
    const early = [...this.#newcomers];
    this.#watch = new LeaderWatch(this.#context, {
      found: (state) => this.#show(state, early),
      lost: (cause) => this.#lose(cause),
    });
    return this.#watch.run(signal, this.#seen !== undefined && !this.#isLost);
  }

  /**
   * Reads the state for new listeners: one read for all that came in one turn of the event loop.
   * With `isCheck`, reads once to check the watch. Restarts the watch if events overtake the reads
   * too often. While the watch cannot tell, new listeners wait for its next state.
   */
  async #readAgain({ isCheck = false } = {}): Promise<void> {
    const watch = this.#watch;
    if (watch === undefined || this.#checked === watch) return;
    this.#checked = watch;
    // More listeners may subscribe in this turn of the event loop.
    await Promise.resolve();
    let overtaken = 0;
    for (let isDue = isCheck; isDue || this.#newcomers.size > 0; isDue = false) {
      const served = [...this.#newcomers];
      const result = await watch.confirm((state) => this.#show(state, served));
      if (result === 'unable') break;
      overtaken = result === 'overtaken' ? overtaken + 1 : 0;
      if (overtaken === MAX_READS) watch.restart();
    }
    if (this.#checked === watch) this.#checked = undefined;
  }

  /** `served`: the new listeners for which this state is new enough. */
  #show(state: LeaderState, served: readonly ElectionListener[]): void {
    const notification = (this.#notification += 1);
    const isNews = this.#isLost || this.#seen === undefined || !isSameState(state, this.#seen);
    this.#backoff.reset();
    this.#seen = state;
    this.#isLost = false;
    const first = served.filter((listener) => this.#newcomers.delete(listener));
    for (const listener of isNews ? [...this.#listeners] : first) {
      // A listener may end another subscription, or the watch. Then the state is no longer known.
      if (notification !== this.#notification) return;
      if (this.#listeners.has(listener) && !this.#newcomers.has(listener)) listener.changed(state);
    }
    if (this.#newcomers.size > 0) void this.#readAgain();
  }

  #lose(cause: unknown): void {
    this.#notification += 1;
    if (this.#closed.signal.aborted) return;
    this.#isLost = true;
    for (const listener of [...this.#listeners]) if (this.#listeners.has(listener)) listener.stale(cause);
  }
}
