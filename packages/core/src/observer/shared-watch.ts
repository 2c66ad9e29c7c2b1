/** One watch of an election for all who observe it in this process, through one store: thousands of observers ask the store no more than one does. */

import { endQuietly, onAbort } from '../async/abort.ts';
import { Backoff } from '../async/backoff.ts';
import { sleep } from '../async/sleep.ts';
import type { Cancel, Clock } from '../base/clock.ts';
import { isIncumbentError, StoreError } from '../base/errors.ts';
import { fraction, type Random } from '../base/random.ts';
import type { ElectionKeys } from '../protocol/keys.ts';
import type { Entry, Key, Store } from '../store/contract.ts';
import { follow } from '../store/key-watch.ts';
import { LeaderStateReader, isSameState, isStateOf, type LeaderState } from './leader-state.ts';

/** One who observes. What it is told is no older than its coming. */
export interface ElectionListener {
  changed(state: LeaderState): void;
  /** What was seen can no longer be vouched for. */
  stale(cause: unknown): void;
}

export interface SharedWatchContext {
  readonly store: Store;
  readonly keys: ElectionKeys;
  readonly clock: Clock;
  readonly random: Random;
  readonly callTimeoutMs: number;
}

/** Of so many reads for newcomers, the watch may tell something meanwhile; then it is begun again. */
const MAX_READS = 3;

/**
 * How often, in ms, a read finds out whether the watch still tells what there is: a server may go
 * silent for watches alone. Each time a little later by chance, so that many do not read together.
 */
const CHECK_EVERY_MS = 15_000;
const CHECK_SPREAD = 0.25;

const sharedWatches = new WeakMap<Store, Map<Key, Set<SharedElectionWatch>>>();

/** Calls the listener with every state from now on. The returned function ends that; with the last listener the watch ends, and its promise resolves then. */
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

class SharedElectionWatch {
  readonly #context: SharedWatchContext;
  readonly #forget: (shared: SharedElectionWatch) => void;
  readonly #reader: LeaderStateReader;
  readonly #backoff: Backoff;
  readonly #listeners = new Set<ElectionListener>();
  /** Listeners that have received nothing yet: what is known may be older than they are. */
  readonly #newcomers = new Set<ElectionListener>();
  /** Those of them who came before the watch was begun, so that its first state is no older. */
  #early: readonly ElectionListener[] = [];
  readonly #closed = new AbortController();
  #watching: Promise<void> | undefined;
  /** Aborts with the watch that is followed now. */
  #over = new AbortController();
  /** Aborts when what the watch told last, and is being looked into, no longer counts. */
  #look = new AbortController();
  #fail: (error: unknown) => void = () => {};
  /** Begins the watch again, without a word to anybody: its first state will be no older than those who have come by now. */
  #renew: () => void = () => {};
  /** While the watch has failed: abort it to try again at once. */
  #rest: AbortController | undefined;
  /** Counts what the watch has told, its going stale included, and what was shown. */
  #generation = 0;
  /** What the watch that is followed now told last. */
  #latest: { readonly entry: Entry | undefined } | undefined;
  #seen: LeaderState | undefined;
  #lost: { readonly cause: unknown; readonly watch: AbortController } | undefined;
  /** The watch, if any, that is being checked by reads. */
  #checked: AbortController | undefined;
  #cancelCheck: Cancel = () => {};

  constructor(context: SharedWatchContext, forget: (shared: SharedElectionWatch) => void) {
    const { store, keys, random, callTimeoutMs } = context;
    this.#context = context;
    this.#forget = forget;
    this.#reader = new LeaderStateReader(store, keys, callTimeoutMs);
    this.#backoff = new Backoff(random, 500, 30_000);
  }

  /** Whether it asks as one of this context would. */
  serves({ clock, callTimeoutMs }: SharedWatchContext): boolean {
    return clock === this.#context.clock && callTimeoutMs === this.#context.callTimeoutMs;
  }

  join(listener: ElectionListener): () => Promise<void> {
    this.#listeners.add(listener);
    this.#newcomers.add(listener);
    if (this.#watching === undefined) this.#watching = this.#watch();
    // What failed before it came says nothing of what the store does now.
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

  /** What the store refuses today it may allow tomorrow: the watch is tried again, unless the store is closed. */
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

  /** Until the watch ends, a read that one of its states asks for fails, or it is to be begun again. */
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
    this.#early = [...this.#newcomers];
    const stop = onAbort(this.#closed.signal, () => over.abort());
    const options = { signal: over.signal, onStale: (cause: unknown) => (over.signal.aborted ? undefined : this.#lose(cause)) };
    const cancel = this.#soon();
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

  /** A watch that was begun again in silence has to tell something in time: what is known still is what the one before has told. */
  #soon(): Cancel {
    const { clock, callTimeoutMs } = this.#context;
    if (this.#seen === undefined || this.#lost !== undefined) return () => {};
    return clock.schedule(callTimeoutMs, () =>
      this.#lose(new StoreError('TIMEOUT', 'unknown', `watch: nothing was told within ${callTimeoutMs} ms`)),
    );
  }

  /** A newer state ends the reads for the one before; and so does the watch's going stale: what came of them then would not be known to hold. */
  #see(entry: Entry | undefined): void {
    this.#generation += 1;
    this.#latest = { entry };
    this.#look.abort();
    const { signal } = (this.#look = new AbortController());
    this.#reader.see(entry, signal).then(
      (state) => (signal.aborted ? undefined : this.#show(state, this.#early)),
      (error: unknown) => (signal.aborted ? undefined : this.#fail(error)),
    );
  }

  /**
   * For those who have come since: one read for all who come in one turn. And now and then for all,
   * as a watch may go silent (`isCheck`). While the watch can vouch for nothing, they wait for it, as all do. It is begun again
   * where the read found what the watch has not told, as what that tells next may be older; where it tells too often for a read to count; and where a read fails,
   * which is no news to the others.
   */
  async #lookAgain({ isCheck = false } = {}): Promise<void> {
    const over = this.#over;
    if (this.#checked === over) return;
    let isDue = isCheck;
    this.#checked = over;
    const { signal } = over;
    try {
      // More may come in this turn.
      await Promise.resolve();
      for (let reads = 0; this.#newcomers.size > 0 || isDue; reads += 1) {
        const [newcomers, generation, latest, seen] = [[...this.#newcomers], this.#generation, this.#latest, this.#seen];
        if (signal.aborted || latest === undefined || seen === undefined || this.#lost !== undefined) return;
        if (reads === MAX_READS) return this.#renew();
        const state = await this.#reader.see(await this.#reader.leader(signal), signal);
        // The check is over, and a watch that has told something meanwhile is not silent.
        isDue = false;
        // What was told or shown meanwhile may be newer.
        if (generation !== this.#generation) continue;
        this.#look.abort();
        this.#show(state, newcomers);
        if (!isSameState(state, seen) || !isStateOf(latest.entry, state)) return this.#renew();
        reads = -1;
      }
    } catch {
      if (!signal.aborted && this.#lost === undefined) this.#renew();
    } finally {
      if (this.#checked === over) this.#checked = undefined;
    }
  }

  /** `served`: those for whom it is no older than their coming. */
  #show(state: LeaderState, served: readonly ElectionListener[]): void {
    this.#generation += 1;
    const generation = this.#generation;
    const isNews = this.#lost !== undefined || this.#seen === undefined || !isSameState(state, this.#seen);
    this.#reader.keep(state);
    this.#backoff.reset();
    this.#seen = state;
    this.#lost = undefined;
    const first = served.filter((listener) => this.#newcomers.delete(listener));
    for (const listener of isNews ? [...this.#listeners] : first) {
      // One that is told may end another; and by what it does, nothing may be known any more.
      if (generation !== this.#generation) return;
      if (this.#listeners.has(listener) && !this.#newcomers.has(listener)) listener.changed(state);
    }
    if (this.#newcomers.size > 0) void this.#lookAgain();
  }

  #lose(cause: unknown): void {
    this.#generation += 1;
    this.#look.abort();
    if (this.#closed.signal.aborted) return;
    this.#lost = { cause, watch: this.#over };
    for (const listener of [...this.#listeners]) if (this.#listeners.has(listener)) listener.stale(cause);
  }
}
