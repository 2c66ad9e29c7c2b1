/** Waiting, on an injected clock, with an end to every wait. */

import type { Cancel, Clock } from './clock.ts';
import { isIncumbentError } from './errors.ts';
import { endQuietly, onAbort } from './signals.ts';
import type { Entry, Key, Store } from './store.ts';
import type { Telemetry } from './telemetry.ts';
import type { Timing } from './timing.ts';

/** Resolves after `delayMs`, or sooner when the signal aborts. */
export async function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>();
  const cancel = clock.schedule(Math.max(delayMs, 1), () => over.resolve());
  const stop = onAbort(signal, () => over.resolve());
  await over.promise;
  cancel();
  stop();
}

/** Settles as the task does, and keeps the process alive until then. */
export async function held<T>(clock: Clock, task: () => Promise<T>): Promise<T> {
  const letGo = clock.hold();
  try {
    return await task();
  } finally {
    letGo();
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

/** A promise that is made when somebody asks for it: most never are. */
export class Later<T> {
  #settled: { readonly value: T } | undefined;
  #asked: PromiseWithResolvers<T> | undefined;

  /** What it is settled with, if it is. */
  get value(): T | undefined {
    return this.#settled?.value;
  }

  get promise(): Promise<T> {
    this.#asked ??= Promise.withResolvers<T>();
    if (this.#settled !== undefined) this.#asked.resolve(this.#settled.value);
    return this.#asked.promise;
  }

  /** Does nothing the second time. */
  resolve(value: T): void {
    this.#settled ??= { value };
    this.#asked?.resolve(this.#settled.value);
  }
}

/** At most so many calls at a time; the rest wait in order. */
export class Lane {
  #free: number;
  readonly #waiting: { readonly calls: number; readonly enter: () => void }[] = [];

  constructor(width: number) {
    this.#free = width;
  }

  /** Runs a task that makes up to so many calls at the same time: no more than the lane is wide. Where there is room, it begins before this returns. */
  async run<T>(task: () => Promise<T>, calls = 1): Promise<T> {
    if (this.#waiting.length === 0 && calls <= this.#free) this.#free -= calls;
    else await new Promise<void>((enter) => this.#waiting.push({ calls, enter }));
    try {
      return await task();
    } finally {
      this.#free += calls;
      this.#admit();
    }
  }

  #admit(): void {
    for (let first = this.#waiting[0]; first !== undefined && first.calls <= this.#free; first = this.#waiting[0]) {
      this.#waiting.shift();
      this.#free -= first.calls;
      first.enter();
    }
  }
}

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
    if (!signal.aborted) this.#ask(store.watch(this.#key, { signal })[Symbol.asyncIterator]());
  }

  #ask(states: AsyncIterator<Entry | undefined>): void {
    states.next().then(
      (next) => this.#told(next, states),
      (cause: unknown) => this.#lost(cause),
    );
  }

  #told({ done, value }: IteratorResult<Entry | undefined, unknown>, states: AsyncIterator<Entry | undefined>): void {
    if (this.#signal.aborted) return;
    if (done === true) return this.#beginLater();
    try {
      this.#see(value);
    } catch (cause) {
      void states.return?.();
      return this.#lost(cause);
    }
    this.#ask(states);
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
