/** One watch: a mirror of a part of the store, and a loop that keeps it true through whatever happens to the link. */

import type { WatchOptions } from '@incumbent/core';
import { endQuietly, StateStream } from '@incumbent/core/adapter';

import { endsWatch, toStoreError } from './errors.ts';
import type { Mirror } from './mirror.ts';
import type { Subscription } from './watch-stream.ts';
import type { Closable, WatchHub } from './watch-hub.ts';

/** A watch for everyone who iterates: it begins when the first state is asked for. */
export function watchStates<T>(hub: WatchHub, mirror: () => Mirror<T>, options: WatchOptions): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => new Watch(hub, mirror(), options) };
}

class Watch<T> implements AsyncIterator<T, void, undefined>, Closable {
  readonly #hub: WatchHub;
  readonly #mirror: Mirror<T>;
  readonly #options: WatchOptions;
  readonly #states = new StateStream<T>();
  readonly #stopping = new AbortController();
  readonly #onAbort = (): void => this.#stop();
  #subscription: Subscription | undefined;
  #started = false;
  #stale = false;

  constructor(hub: WatchHub, mirror: Mirror<T>, options: WatchOptions) {
    this.#hub = hub;
    this.#mirror = mirror;
    this.#options = options;
  }

  next(): Promise<IteratorResult<T, void>> {
    if (!this.#started) this.#start();
    return this.#states.next();
  }

  return(): Promise<IteratorResult<T, void>> {
    this.#started = true;
    this.#stop();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Ends the watch loudly. */
  fail(error: unknown): void {
    this.#states.fail(error);
    this.#stop();
  }

  #start(): void {
    this.#started = true;
    if (this.#options.signal.aborted) return this.#stop();
    this.#options.signal.addEventListener('abort', this.#onAbort, { once: true });
    this.#hub.add(this);
    // Whoever begins it has things to do that somebody waits for.
    if (!this.#stopping.signal.aborted) setImmediate(() => void this.#run());
  }

  #stop(): void {
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    endQuietly(this.#stopping);
    this.#subscription?.cancel();
    this.#hub.delete(this);
    this.#states.end();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#follow(signal);
      } catch (error) {
        if (!signal.aborted) this.#lose(error);
      }
    }
  }

  /** Yields the state, and its changes while the server tells of them. Throws when it no longer does. */
  async #follow(signal: AbortSignal): Promise<void> {
    const publish = (): void => this.#states.put(() => this.#mirror.state());
    this.#subscription = await this.#hub.establish(this.#mirror, publish, signal);
    this.#stale = false;
    publish();
    const error = await this.#subscription.ended;
    if (error !== undefined) throw toStoreError(error, 'Watch', true);
  }

  #lose(error: unknown): void {
    if (endsWatch(error)) return this.fail(error);
    if (this.#stale) return;
    this.#stale = true;
    this.#states.drop();
    try {
      this.#options.onStale?.(toStoreError(error, 'Watch', true));
    } catch (thrown) {
      this.fail(thrown);
    }
  }
}
