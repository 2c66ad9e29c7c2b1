/** A key, followed for as long as somebody wants to know. */

import { endQuietly, onAbort } from '../async/abort.ts';
import { sleep } from '../async/sleep.ts';
import type { Cancel, Clock } from '../base/clock.ts';
import { isIncumbentError } from '../base/errors.ts';
import type { Telemetry } from '../base/telemetry.ts';
import type { Entry, Key, Store } from './contract.ts';

export interface KeyWatchContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** The wait before a watch that failed is begun again. */
  readonly retryMs: number;
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
      (next) => this.#received(next, states),
      (cause: unknown) => this.#lost(cause),
    );
  }

  /** A watch whose signal has aborted is asked on, until it has ended. */
  #received({ done, value }: IteratorResult<Entry | undefined, unknown>, states: AsyncIterator<Entry | undefined>): void {
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
    const { clock, retryMs } = this.#context;
    if (!this.#signal.aborted) void sleep(clock, retryMs, this.#signal).then(() => this.begin());
  }
}

/**
 * The watch on one key, and on what else is watched for as long. Its owner ends it, or gives it to
 * the next owner. Each state of the key is news once.
 */
export class KeyWatch {
  readonly #context: KeyWatchContext;
  readonly #over = new AbortController();
  #isNews = false;
  #latest: Entry | undefined;
  #listener: (() => void) | undefined;

  constructor(context: KeyWatchContext, key: Key) {
    this.#context = context;
    this.alsoWatch(key, (entry) => this.#see(entry));
  }

  /** Hands every state of another key to `see`, until this watch ends. */
  alsoWatch(key: Key, see: (entry: Entry | undefined) => void): void {
    keepWatching(this.#context, key, this.#over.signal, see);
  }

  /** Ends the watch, without an error. */
  end(): void {
    endQuietly(this.#over);
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

/** Hands every state of a watch to `see` until the watch ends; `fail` hears of one that cannot go on. */
export async function follow<T>(states: AsyncIterable<T>, see: (state: T) => void, fail: (error: unknown) => void): Promise<void> {
  try {
    for await (const state of states) see(state);
  } catch (error) {
    fail(error);
  }
}

/** Whether the key went within `withinMs`. Rejects if the watch cannot go on, or with the signal's reason. */
export async function untilGone(store: Store, clock: Clock, key: Key, withinMs: number, signal: AbortSignal): Promise<boolean> {
  const ended = new AbortController();
  const gone = Promise.withResolvers<boolean>();
  const cancels: Cancel[] = [
    clock.schedule(withinMs, () => gone.resolve(false)),
    onAbort(signal, () => gone.reject(signal.reason)),
    () => endQuietly(ended),
  ];
  const see = (entry: Entry | undefined): void => {
    if (entry === undefined) gone.resolve(true);
  };
  const following = follow(store.watch(key, { signal: ended.signal, values: false }), see, gone.reject);
  try {
    return await gone.promise;
  } finally {
    for (const cancel of cancels) cancel();
    await following;
  }
}
