/** One watch: a mirror of a part of the store, and a loop that keeps it true through whatever happens to the link. */

import type { Cancel, WatchOptions } from '@incumbent/core';
import { endQuietly, watchStates, type WatchController } from '@incumbent/core/adapter';

import { endsWatch, toStoreError } from './errors.ts';
import type { Mirror } from './mirror.ts';
import type { Subscription } from './watch-stream.ts';
import type { WatchHub } from './watch-hub.ts';

export function watchMirror<T>(hub: WatchHub, mirror: () => Mirror<T>, options: WatchOptions): AsyncIterable<T> {
  return watchStates<Mirror<T>, T>(
    (watch) => new Watch(hub, mirror(), watch).start(),
    (seen) => seen.state(),
    options,
  );
}

class Watch<T> {
  readonly #hub: WatchHub;
  readonly #mirror: Mirror<T>;
  readonly #watch: WatchController<Mirror<T>>;
  readonly #stopping = new AbortController();
  #subscription: Subscription | undefined;

  constructor(hub: WatchHub, mirror: Mirror<T>, watch: WatchController<Mirror<T>>) {
    this.#hub = hub;
    this.#mirror = mirror;
    this.#watch = watch;
  }

  start(): Cancel {
    const leave = this.#hub.add(this.#watch);
    // Whoever begins it has things to do that somebody waits for.
    setImmediate(() => void this.#run());
    return () => {
      leave();
      endQuietly(this.#stopping);
      this.#subscription?.cancel();
    };
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

  /** Shows the state, and its changes while the server tells of them. Throws when it no longer does. */
  async #follow(signal: AbortSignal): Promise<void> {
    const show = (): void => this.#watch.show(this.#mirror);
    this.#subscription = await this.#hub.establish(this.#mirror, show, signal);
    show();
    const error = await this.#subscription.ended;
    if (error !== undefined) throw toStoreError(error, 'Watch', true);
  }

  #lose(error: unknown): void {
    if (endsWatch(error)) this.#watch.fail(error);
    else this.#watch.lose(toStoreError(error, 'Watch', true));
  }
}
