/**
 * One watch of an election for all its observers in this process and on one open store: any number
 * of observers costs the store one watch.
 */

import { endQuietly, onAbort } from '../async/abort.ts';
import { Backoff } from '../async/backoff.ts';
import { sleep } from '../async/sleep.ts';
import type { Cancel, Clock } from '../base/clock.ts';
import { isIncumbentError, StoreError } from '../base/errors.ts';
import { fraction, type Random } from '../base/random.ts';
import type { ElectionKeys } from '../protocol/keys.ts';
import type { Entry, Key, Store } from '../store/contract.ts';
import { follow } from '../store/key-watch.ts';
import { LeaderStateReader, isSameState, isStateOf, type LeaderState, VacancyTimer } from './leader-state.ts';

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
/** The longest random delay that is added, as a part of that time: many do not read together. */
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

/** One watch of the key `leader`, and its listeners. */
class SharedElectionWatch {
  readonly #context: SharedWatchContext;
  readonly #forget: (shared: SharedElectionWatch) => void;
  readonly #reader: LeaderStateReader;
  readonly #vacancies: VacancyTimer;
  readonly #backoff: Backoff;
  readonly #listeners = new Set<ElectionListener>();
  /** Listeners that have received no state yet. The known state may be older than they need. */
  readonly #newcomers = new Set<ElectionListener>();
  /**
   * The new listeners from before the watch started. Its first state is new enough for them.
   */
  #early: readonly ElectionListener[] = [];
  readonly #closed = new AbortController();
  #watching: Promise<void> | undefined;
  /** Aborts with the present watch. */
  #over = new AbortController();
  /** Aborts the reads for an event when that event is outdated. */
  #look = new AbortController();
  #fail: (error: unknown) => void = () => {};
  /**
   * Restarts the watch without reporting it as stale. Its first state is new enough for all present
   * listeners.
   */
  #renew: () => void = () => {};
  /** Set while the watch has failed. Aborting it retries at once. */
  #rest: AbortController | undefined;
  /** Counts the events of the watch, including stale ones, and the states shown. */
  #generation = 0;
  /** The last event of the present watch. */
  #latest: { readonly entry: Entry | undefined } | undefined;
  #seen: LeaderState | undefined;
  #lost: { readonly cause: unknown; readonly watch: AbortController } | undefined;
  /** The watch that a read is checking. */
  #checked: AbortController | undefined;
  #cancelCheck: Cancel = () => {};

  constructor(context: SharedWatchContext, forget: (shared: SharedElectionWatch) => void) {
    const { store, keys, clock, random, callTimeoutMs } = context;
    this.#context = context;
    this.#forget = forget;
    this.#vacancies = new VacancyTimer(clock);
    this.#reader = new LeaderStateReader(store, keys, callTimeoutMs);
    this.#backoff = new Backoff(random, 500, 30_000);
  }

  /** True if an observer with this context can share the watch. */
  serves({ clock, callTimeoutMs }: SharedWatchContext): boolean {
    return clock === this.#context.clock && callTimeoutMs === this.#context.callTimeoutMs;
  }

  join(listener: ElectionListener): () => Promise<void> {
    this.#listeners.add(listener);
    this.#newcomers.add(listener);
    if (this.#watching === undefined) this.#watching = this.#watch();
    // An earlier failure says nothing about the store's present state.
    else if (this.#rest !== undefined) endQuietly(this.#rest);
    else {
      if (this.#lost?.watch === this.#over && !this.#over.signal.aborted) listener.stale(this.#lost.cause);
      void this.#lookAgain();
    }
    return () => this.#leave(listener);
  }

  #checkLater(): void {
    const { clock, random } = this.#context;
    const delayMs = CHECK_EVERY_MS * (1 + CHECK_SPREAD * fraction(random));
    this.#cancelCheck = clock.schedule(delayMs, () => {
      this.#checkLater();
      void this.#lookAgain({ isCheck: true });
    });
  }

  async #leave(listener: ElectionListener): Promise<void> {
    this.#listeners.delete(listener);
    this.#newcomers.delete(listener);
    if (this.#listeners.size > 0) return;
    this.#forget(this);
    this.#closed.abort();
    await this.#watching;
  }

  /** Retries the watch after every error, also a permanent one, until the store is closed. */
  async #watch(): Promise<void> {
    const { signal } = this.#closed;
    this.#checkLater();
    onAbort(signal, () => this.#cancelCheck());
    while (!signal.aborted) {
      const rest = new AbortController();
      try {
        if ((await this.#follow()) === 'renew') continue;
        this.#rest = rest;
      } catch (error) {
        this.#rest = rest;
        const isOver = isIncumbentError(error, 'STORE_CLOSED');
        if (isOver) {
          this.#forget(this);
          this.#cancelCheck();
        }
        this.#lose(error);
        if (isOver) return;
      }
      const stop = onAbort(signal, () => endQuietly(rest));
      await sleep(this.#context.clock, this.#backoff.next(), rest.signal);
      this.#rest = undefined;
      stop();
    }
  }

  /**
   * Follows one watch until it ends, a read for one of its events fails, or it is to be restarted.
   */
  async #follow(): Promise<'renew' | void> {
    const { store, keys } = this.#context;
    const over = (this.#over = new AbortController());
    const ended = Promise.withResolvers<'renew'>();
    this.#fail = ended.reject;
    this.#renew = () => {
      ended.resolve('renew');
      over.abort();
    };
    this.#latest = undefined;
    this.#vacancies.lose();
    this.#early = [...this.#newcomers];
    const stop = onAbort(this.#closed.signal, () => over.abort());
    const options = { signal: over.signal, onStale: (cause: unknown) => (over.signal.aborted ? undefined : this.#lose(cause)) };
    const cancel = this.#loseUnlessSoon();
    const see = (entry: Entry | undefined): void => {
      cancel();
      if (!over.signal.aborted) this.#see(entry);
    };
    const watching = follow(store.watch(keys.leader, options), see, ended.reject);
    try {
      return await Promise.race([watching, ended.promise]);
    } finally {
      over.abort();
      this.#look.abort();
      stop();
      cancel();
      await watching;
    }
  }

  /**
   * A restarted watch must show a state in time: until then only the previous watch confirms the
   * last state.
   */
  #loseUnlessSoon(): Cancel {
    const { clock, callTimeoutMs } = this.#context;
    if (this.#seen === undefined || this.#lost !== undefined) return () => {};
    return clock.schedule(callTimeoutMs, () =>
      this.#lose(new StoreError('TIMEOUT', 'unknown', `watch: no state within ${callTimeoutMs} ms`)),
    );
  }

  /** A newer event, or a stale watch, cancels the reads for the event before. */
  #see(entry: Entry | undefined): void {
    this.#generation += 1;
    this.#latest = { entry };
    this.#look.abort();
    if (entry === undefined && this.#lost === undefined && this.#seen?.state === 'leader') this.#vacancies.begin(this.#seen);
    const { signal } = (this.#look = new AbortController());
    this.#reader.see(entry, signal).then(
      (state) => (signal.aborted ? undefined : this.#show(state, this.#early)),
      (error: unknown) => (signal.aborted ? undefined : this.#fail(error)),
    );
  }

  /**
   * Reads the state for new listeners: one read for all that came in one turn of the event loop.
   * With `isCheck`, reads to check the watch. New listeners wait while the watch is stale. Restarts
   * the watch if the read shows what the watch has not shown, if events overtake the reads too
   * often, and if a read fails.
   */
  async #lookAgain({ isCheck = false } = {}): Promise<void> {
    const over = this.#over;
    if (this.#checked === over) return;
    let isDue = isCheck;
    this.#checked = over;
    const { signal } = over;
    try {
      // More listeners may subscribe in this turn of the event loop.
      await Promise.resolve();
      for (let reads = 0; this.#newcomers.size > 0 || isDue; reads += 1) {
        const [newcomers, generation, latest, seen] = [[...this.#newcomers], this.#generation, this.#latest, this.#seen];
        if (signal.aborted || latest === undefined || seen === undefined || this.#lost !== undefined) return;
        if (reads === MAX_READS) return this.#renew();
        const state = await this.#reader.see(await this.#reader.leader(signal), signal);
        // The check is done: a watch that has reported an event meanwhile works.
        isDue = false;
        // A state that was shown meanwhile may be newer.
        if (generation !== this.#generation) continue;
        this.#look.abort();
        this.#show(state, newcomers);
        if (!isSameState(state, seen) || !isStateOf(latest.entry, state)) return this.#renew();
        // The next read counts as the first one again.
        reads = -1;
      }
    } catch {
      if (!signal.aborted && this.#lost === undefined) this.#renew();
    } finally {
      if (this.#checked === over) this.#checked = undefined;
    }
  }

  /** `served`: the new listeners for which this state is new enough. */
  #show(read: LeaderState, served: readonly ElectionListener[]): void {
    const state = read.state === 'leader' ? this.#vacancies.end(read) : read;
    this.#generation += 1;
    const generation = this.#generation;
    const isNews = this.#lost !== undefined || this.#seen === undefined || !isSameState(state, this.#seen);
    this.#reader.keep(state);
    this.#backoff.reset();
    this.#seen = state;
    this.#lost = undefined;
    const first = served.filter((listener) => this.#newcomers.delete(listener));
    for (const listener of isNews ? [...this.#listeners] : first) {
      // A listener may end another subscription, or the watch. Then the state is no longer known.
      if (generation !== this.#generation) return;
      if (this.#listeners.has(listener) && !this.#newcomers.has(listener)) listener.changed(state);
    }
    if (this.#newcomers.size > 0) void this.#lookAgain();
  }

  #lose(cause: unknown): void {
    this.#generation += 1;
    this.#look.abort();
    this.#vacancies.lose();
    if (this.#closed.signal.aborted) return;
    this.#lost = { cause, watch: this.#over };
    for (const listener of [...this.#listeners]) if (this.#listeners.has(listener)) listener.stale(cause);
  }
}
