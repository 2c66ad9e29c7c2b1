/** A key, followed for as long as somebody wants to know. */

import type { Clock } from '../base/clock.ts';
import { isIncumbentError } from '../base/errors.ts';
import type { Entry, Key, Store } from './contract.ts';
import type { Telemetry } from '../base/telemetry.ts';
import type { Timing } from '../lease/timing.ts';
import { sleep } from '../async/sleep.ts';

export interface KeyWatchContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly timing: Timing;
  readonly telemetry: Telemetry;
}

/** Hands every state of a key to `see` until the signal aborts. A watch that cannot go on is begun again: the store may allow tomorrow what it refuses today. */
export function keepWatching(context: KeyWatchContext, key: Key, signal: AbortSignal, see: (entry: Entry | undefined) => void): void {
  new Follower(context, key, signal, see).begin();
}

/** In place of an async function: thousands wait at the same time, and one that is suspended holds on to all that it has ever had. */
class Follower {
  readonly #context: KeyWatchContext;
  readonly #key: Key;
  readonly #signal: AbortSignal;
  readonly #see: (entry: Entry | undefined) => void;

  constructor(context: KeyWatchContext, key: Key, signal: AbortSignal, see: (entry: Entry | undefined) => void) {
    this.#context = context;
    this.#key = key;
    this.#signal = signal;
    this.#see = see;
  }

  begin(): void {
    const [signal, { store }] = [this.#signal, this.#context];
    if (signal.aborted) return;
    try {
      this.#ask(store.watch(this.#key, { signal })[Symbol.asyncIterator]());
    } catch (cause) {
      this.#lost(cause);
    }
  }

  #ask(states: AsyncIterator<Entry | undefined>): void {
    states.next().then(
      (next) => this.#told(next, states),
      (cause: unknown) => this.#lost(cause),
    );
  }

  /** A watch whose signal has aborted is asked on, until it has ended. */
  #told({ done, value }: IteratorResult<Entry | undefined, unknown>, states: AsyncIterator<Entry | undefined>): void {
    if (done === true) return this.#beginLater();
    try {
      if (!this.#signal.aborted) this.#see(value);
      this.#ask(states);
    } catch (cause) {
      // How it ends is nobody's concern any more.
      states.return?.().catch(() => {});
      this.#lost(cause);
    }
  }

  #lost(cause: unknown): void {
    this.#context.telemetry.emit('watchStale', { key: this.#key, cause });
    if (!isIncumbentError(cause, 'STORE_CLOSED')) this.#beginLater();
  }

  #beginLater(): void {
    const { clock, timing } = this.#context;
    if (!this.#signal.aborted) void sleep(clock, timing.ttlMs / 10, this.#signal).then(() => this.begin());
  }
}

/** A key that is watched, for whoever asks: each of its states is news once. */
export class KeyWatch {
  #isNews = false;
  #latest: Entry | undefined;
  #listener: (() => void) | undefined;

  constructor({ store, clock, timing, telemetry }: KeyWatchContext, key: Key, signal: AbortSignal) {
    // No more than it needs: it may outlive whatever else its maker knows.
    keepWatching({ store, clock, timing, telemetry }, key, signal, (entry) => this.#see(entry));
  }

  /** The latest state, taken or not; undefined where there is no key, or nothing was told yet. */
  get latest(): Entry | undefined {
    return this.#latest;
  }

  /** The latest state that nobody has taken yet. */
  take(): { readonly entry: Entry | undefined } | undefined {
    if (!this.#isNews) return undefined;
    this.#isNews = false;
    return { entry: this.#latest };
  }

  /** Runs `task` at every news from now on, in place of the task before; at once if there is some. */
  onNews(task: () => void): void {
    this.#listener = task;
    if (this.#isNews) task();
  }

  #see(entry: Entry | undefined): void {
    this.#isNews = true;
    this.#latest = entry;
    this.#listener?.();
  }
}
