/** Waiting, on an injected clock, with an end to every wait. */

import type { Cancel, Clock } from './clock.ts';
import { onAbort } from './signals.ts';
import type { Entry, Key, Store } from './store.ts';

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
    () => ended.abort(),
  ];
  const see = (entry: Entry | undefined): void => {
    if (entry === undefined) gone.resolve(true);
  };
  const following = follow(store.watch(key, { signal: ended.signal }), see, gone.reject);
  try {
    return await gone.promise;
  } finally {
    for (const cancel of cancels) cancel();
    await following;
  }
}

/** At most so many at a time; the rest wait in order. */
export class Lane {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(width: number) {
    this.#free = width;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

/** One key, watched: each state is news once. */
export class KeyWatch {
  readonly #ended = new AbortController();
  #news: { readonly entry: Entry | undefined } | undefined;
  #failure: { readonly error: unknown } | undefined;
  #listener: (() => void) | undefined;

  constructor(store: Store, key: Key) {
    void follow(
      store.watch(key, { signal: this.#ended.signal }),
      (entry) => {
        this.#news = { entry };
        this.#listener?.();
      },
      (error) => {
        this.#failure = { error };
        this.#listener?.();
      },
    );
  }

  /** The latest state that nobody has taken yet. */
  take(): { readonly entry: Entry | undefined } | undefined {
    const news = this.#news;
    this.#news = undefined;
    return news;
  }

  /** Why the watch has ended, if it could not go on. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** Runs `task` at every news from now on, in place of the task before; at once if there is some. */
  onNews(task: () => void): void {
    this.#listener = task;
    if (this.#news !== undefined || this.#failure !== undefined) task();
  }

  stop(): void {
    this.#listener = undefined;
    this.#ended.abort();
  }
}
