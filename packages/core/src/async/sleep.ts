/** Waiting, on an injected clock, with an end to every wait. */

import type { Cancel, Clock } from '../base/clock.ts';
import { endQuietly, onAbort } from './abort.ts';
import type { Entry, Key, Store } from '../store/contract.ts';

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
