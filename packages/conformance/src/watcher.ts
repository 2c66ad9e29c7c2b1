/** Reads a watch in the background and records its states. */

import type { Clock, StoreError, WatchOptions } from '@incumbent/core';
import { until, within, type Seen } from './time.ts';

export interface WatcherOptions {
  /** Awaited after each state before the next one is read: makes a slow reader. */
  readonly pause?: () => Promise<void>;
  readonly signal?: AbortSignal;
}

export class Watcher<T> {
  /** Every state so far, oldest first. */
  readonly states: T[] = [];
  /** The errors that `onStale` was called with. */
  readonly stale: StoreError[] = [];
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;
  #failure: { readonly error: unknown } | undefined;

  constructor(clock: Clock, open: (options: WatchOptions) => AsyncIterable<T>, options: WatcherOptions = {}) {
    this.#clock = clock;
    const signal = options.signal === undefined ? this.#stop.signal : AbortSignal.any([this.#stop.signal, options.signal]);
    const watch = open({ signal, onStale: (cause) => this.stale.push(cause) });
    this.#done = this.#consume(watch, options.pause).catch((error: unknown) => {
      this.#failure = { error };
    });
  }

  async #consume(watch: AsyncIterable<T>, pause: (() => Promise<void>) | undefined): Promise<void> {
    for await (const state of watch) {
      this.states.push(state);
      await pause?.();
    }
  }

  /** The latest state. Undefined while there is none. */
  get latest(): T | undefined {
    return this.states.at(-1);
  }

  /**
   * Waits until the watch has yielded a state and `accept` is true for the latest one. Rejects if
   * the watch throws, or with an AssertionError that shows the latest state.
   */
  async sees(accept: (state: T) => boolean, what: string, withinMs: number): Promise<void> {
    const seen = (): Seen => ({ text: `its latest state: ${this.states.length === 0 ? 'none' : textOf(this.latest)}` });
    await until(this.#clock, () => this.#shows(accept), { withinMs, what: `the watch shows ${what}`, everyMs: 5, seen });
  }

  /** Waits until the watch has yielded this many states in all. */
  async says(count: number, withinMs: number): Promise<void> {
    await this.sees(() => this.states.length >= count, `${count} states in all`, withinMs);
  }

  /** Waits until the watch becomes stale. */
  async goesStale(withinMs: number): Promise<void> {
    await until(this.#clock, () => this.stale.length > 0, { withinMs, what: 'onStale is called' });
  }

  #shows(accept: (state: T) => boolean): boolean {
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.states.slice(-1).some(accept);
  }

  /** Resolves when the watch ends without an error. Rejects if it throws. */
  async end(withinMs: number): Promise<void> {
    await within(this.#clock, withinMs, 'the watch ends', this.#done);
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Aborts the watch and waits until it ends without an error. */
  async stop(withinMs: number): Promise<void> {
    this.#stop.abort();
    await this.end(withinMs);
  }
}

/** A state for an error message: keys and the beginnings of their values. */
function textOf(state: unknown): string {
  if (Array.isArray(state)) return `[${state.map((entry) => textOf(entry)).join(', ')}]`;
  if (typeof state !== 'object' || state === null || !('key' in state) || !('value' in state)) return 'absent';
  const value = state.value instanceof Uint8Array ? new TextDecoder().decode(state.value.subarray(0, 200)) : state.value;
  return `${String(state.key)} = ${JSON.stringify(value)}`;
}
