/** Watches one key, and restarts the watch after a failure. */

import { endQuietly, onAbort } from '../async/abort.ts';
import { sleep } from '../async/sleep.ts';
import type { Cancel, Clock } from '../base/clock.ts';
import { isIncumbentError } from '../base/errors.ts';
import type { Telemetry } from '../base/telemetry.ts';
import type { Entry, Key, Revision, Store } from './contract.ts';

/** What a watch needs besides its key. */
export interface KeyWatchContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** How long to wait before a failed watch is restarted, in ms. */
  readonly retryMs: number;
}

/**
 * The part of a session's context that a watch on a key keeps: the watch may outlive the session.
 */
export function watchContext(session: Omit<KeyWatchContext, 'retryMs'> & { readonly timing: { readonly ttlMs: number } }): KeyWatchContext {
  const { store, clock, telemetry, timing } = session;
  return { store, clock, telemetry, retryMs: timing.ttlMs / 10 };
}

/**
 * Calls `see` with every state of a key until the signal aborts. Restarts a watch that fails, also
 * on a permanent error: the permission may come back. `since`: see `KeyWatchOptions`.
 */
export function keepWatching(
  context: KeyWatchContext,
  key: Key,
  signal: AbortSignal,
  see: (entry: Entry | undefined) => void,
  since?: Revision,
): void {
  new RestartingWatch(context, key, signal, see).begin(since);
}

/**
 * One call of `keepWatching`. A class instead of an async function: thousands wait at the same
 * time, and a suspended async function keeps all its variables alive.
 */
class RestartingWatch {
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

  begin(since?: Revision): void {
    const [signal, { store }] = [this.#signal, this.#context];
    if (signal.aborted) return;
    try {
      this.#readNext(store.watch(this.#key, { signal, since })[Symbol.asyncIterator]());
    } catch (cause) {
      this.#lost(cause);
    }
  }

  #readNext(states: AsyncIterator<Entry | undefined>): void {
    states.next().then(
      (next) => this.#received(next, states),
      (cause: unknown) => this.#lost(cause),
    );
  }

  /** Keeps reading after the abort, until the watch has ended. */
  #received({ done, value }: IteratorResult<Entry | undefined, unknown>, states: AsyncIterator<Entry | undefined>): void {
    if (done === true) return this.#beginLater();
    try {
      if (!this.#signal.aborted) this.#see(value);
      this.#readNext(states);
    } catch (cause) {
      // `see` has thrown, so end this watch. Whether that succeeds does not matter.
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
 * Watches one key, and others with `alsoWatch`, until its owner calls `end` or passes it to the
 * next owner. Gives each state of the key to `take` once, or passes it on after `passTo`.
 */
export class KeyWatch {
  readonly #context: KeyWatchContext;
  readonly #over = new AbortController();
  /** Whether nobody has taken the latest state. */
  #isUntaken = false;
  #latest: Entry | undefined;
  #listener: (() => void) | undefined;
  #see = (entry: Entry | undefined): void => this.#keep(entry);

  constructor(context: KeyWatchContext) {
    this.#context = context;
  }

  /** Starts the watch on its key. Called once. `since`: see `KeyWatchOptions`. */
  begin(key: Key, since?: Revision): this {
    this.alsoWatch(key, (entry) => this.#see(entry), since);
    return this;
  }

  /** Calls `see` with every state of another key, until this watch ends. */
  alsoWatch(key: Key, see: (entry: Entry | undefined) => void, since?: Revision): void {
    keepWatching(this.#context, key, this.#over.signal, see, since);
  }

  /** Ends the watch, without an error. */
  end(): void {
    endQuietly(this.#over);
  }

  /** The latest state, taken or not; undefined if there is no such key, or no state has arrived. */
  get latest(): Entry | undefined {
    return this.#latest;
  }

  /** The latest state that nobody has taken yet. */
  take(): { readonly entry: Entry | undefined } | undefined {
    if (!this.#isUntaken) return undefined;
    this.#isUntaken = false;
    return { entry: this.#latest };
  }

  /**
   * Calls `task` for every new state from now on, instead of the task before. Calls it at once if
   * there is a state that nobody has taken.
   */
  onNews(task: () => void): void {
    this.#listener = task;
    if (this.#isUntaken) task();
  }

  /**
   * Calls `see` with the state that nobody has taken, if there is one, and with every later state.
   * Keeps none of them: a leader has no use for the value of its entry.
   */
  passTo(see: (entry: Entry | undefined) => void): void {
    const news = this.take();
    this.#latest = this.#listener = undefined;
    this.#see = see;
    if (news !== undefined) see(news.entry);
  }

  #keep(entry: Entry | undefined): void {
    this.#isUntaken = true;
    this.#latest = entry;
    this.#listener?.();
  }
}

/** Calls `see` with every state of a watch until the watch ends, and `fail` if the watch fails. */
export async function follow<T>(states: AsyncIterable<T>, see: (state: T) => void, fail: (error: unknown) => void): Promise<void> {
  try {
    for await (const state of states) see(state);
  } catch (error) {
    fail(error);
  }
}

/**
 * Resolves with true when the key is gone, or with false after `withinMs`. Rejects if the watch
 * fails, or with the signal's reason.
 */
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
