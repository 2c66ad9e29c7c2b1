/** One watch, of a key or of a list. */

import type { Cancel, StoreError, WatchOptions } from '@incumbent/core';
import { endQuietly, watchStates, type WatchController } from '@incumbent/core/adapter';
import { endsWatch, withGrant } from '@incumbent/network';

import type { ExchangeError } from './client/failure.ts';
import { missingRight, toStoreError } from './errors.ts';
import type { WatchEvent } from './protocol/watch.ts';
import type { WatchHub } from './watch-hub.ts';
import type { WatchState } from './watch-state.ts';
import type { Subscriber, Subscription } from './watch-subscription.ts';

/** Shows the state now, and after each change. Survives the loss of its connection. */
export function watch<T>(hub: WatchHub, newState: () => WatchState<T>, options: WatchOptions): AsyncIterable<T> {
  return watchStates((controller) => new Watch(hub, newState(), controller).start(), stateOf<T>, options);
}

function stateOf<T>(state: WatchState<T>): T {
  return state.state();
}

class Watch<T> implements Subscriber {
  readonly #hub: WatchHub;
  readonly #state: WatchState<T>;
  readonly #controller: WatchController<WatchState<T>>;
  /** Ends a read or a pause before the start. Created when `signal` is first read. */
  #stopper: AbortController | undefined;
  #subscription: Subscription | undefined;
  #isStarting = false;
  stopped = false;

  constructor(hub: WatchHub, state: WatchState<T>, controller: WatchController<WatchState<T>>) {
    this.#hub = hub;
    this.#state = state;
    this.#controller = controller;
  }

  start(): Cancel {
    this.#hub.add(this.#controller);
    // Deferred, so that the caller's own requests go first.
    setImmediate(() => void this.#establish());
    return () => {
      this.#hub.remove(this.#controller);
      this.stopped = true;
      if (this.#stopper !== undefined) endQuietly(this.#stopper);
      this.#subscription?.cancel();
    };
  }

  get signal(): AbortSignal {
    this.#stopper ??= new AbortController();
    if (this.stopped) endQuietly(this.#stopper);
    return this.#stopper.signal;
  }

  onEvents(events: readonly WatchEvent[]): void {
    this.#state.apply(events);
    this.#show();
  }

  onEnded(error: ExchangeError): void {
    // A stream that this process has replaced was not lost with a server.
    if (error.failure.kind !== 'replaced') this.#hub.onWatchLost();
    this.#lose(error);
    if (!this.#isStarting) void this.#establish();
  }

  /** Tries until the server watches. */
  async #establish(): Promise<void> {
    this.#isStarting = true;
    while (!this.stopped && (this.#subscription === undefined || this.#subscription.over)) await this.#try();
    this.#isStarting = false;
    this.#stopper = undefined;
    if (this.stopped) this.#subscription?.cancel();
    else this.#show();
  }

  #show(): void {
    if (this.#state.isKnown) this.#controller.show(this.#state);
  }

  async #try(): Promise<void> {
    try {
      this.#subscription = await this.#hub.establish(this.#state, this);
    } catch (error) {
      if (!this.stopped) this.#lose(error);
    }
  }

  #denied(reason: StoreError): unknown {
    const { request, namespace } = this.#state;
    return withGrant(reason, () => missingRight('read', [request.key], namespace));
  }

  #lose(error: unknown): void {
    const reason = toStoreError(error, 'Watch', true);
    if (endsWatch(reason)) this.#controller.fail(this.#denied(reason));
    else this.#controller.lose(reason);
  }
}
