/** One watch: a mirror of a part of the store, kept true through whatever happens to the link. */

import type { Cancel, WatchOptions } from '@incumbent/core';
import { endQuietly, watchStates, type WatchController } from '@incumbent/core/adapter';

import { endsWatch, toStoreError } from './errors.ts';
import type { ExchangeError } from './client/exchange-error.ts';
import type { Mirror } from './watch-state.ts';
import type { WatchHub } from './watch-hub.ts';
import type { Subscriber, Subscription } from './watch-stream.ts';
import type { WatchEvent } from './protocol/watch.ts';

export function watchMirror<T>(hub: WatchHub, mirror: () => Mirror<T>, options: WatchOptions): AsyncIterable<T> {
  return watchStates((watch) => new Watch(hub, mirror(), watch).start(), stateOf<T>, options);
}

function stateOf<T>(mirror: Mirror<T>): T {
  return mirror.state();
}

class Watch<T> implements Subscriber {
  readonly #hub: WatchHub;
  readonly #mirror: Mirror<T>;
  readonly #controller: WatchController<Mirror<T>>;
  /** While the server does not watch yet, or again. */
  #attempt: AbortController | undefined;
  #subscription: Subscription | undefined;
  #stopped = false;

  constructor(hub: WatchHub, mirror: Mirror<T>, controller: WatchController<Mirror<T>>) {
    this.#hub = hub;
    this.#mirror = mirror;
    this.#controller = controller;
  }

  start(): Cancel {
    this.#hub.add(this.#controller);
    // Whoever begins it has things to do that somebody waits for.
    setImmediate(() => void this.#establish());
    return () => {
      this.#hub.delete(this.#controller);
      this.#stopped = true;
      if (this.#attempt !== undefined) endQuietly(this.#attempt);
      this.#subscription?.cancel();
    };
  }

  heard(events: readonly WatchEvent[]): void {
    this.#mirror.apply(events);
    this.#controller.show(this.#mirror);
  }

  ended(error: ExchangeError): void {
    this.#hub.lost();
    this.#lose(error);
    if (this.#attempt === undefined) void this.#establish();
  }

  /** Until the server watches. */
  async #establish(): Promise<void> {
    while (!this.#stopped && (this.#subscription === undefined || this.#subscription.over)) await this.#try();
    this.#attempt = undefined;
    if (this.#stopped) this.#subscription?.cancel();
    else this.#controller.show(this.#mirror);
  }

  async #try(): Promise<void> {
    this.#attempt = new AbortController();
    try {
      this.#subscription = await this.#hub.establish(this.#mirror, this, this.#attempt.signal);
    } catch (error) {
      if (!this.#stopped) this.#lose(error);
    }
  }

  #lose(error: unknown): void {
    const reason = toStoreError(error, 'Watch', true);
    if (endsWatch(reason)) this.#controller.fail(reason);
    else this.#controller.lose(reason);
  }
}
