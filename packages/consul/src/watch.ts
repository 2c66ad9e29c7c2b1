/** One watch: reports its part of a query's results when that part has changed. */

import type { StoreError, WatchOptions } from '@incumbent/core';
import { watchStates, type WatchController } from '@incumbent/core/adapter';
import { type MissingPermission, withGrant } from '@incumbent/network';

import type { QuerySubscriber } from './blocking-query.ts';
import type { Pair, Target } from './protocol/kv.ts';
import type { WatchHub } from './watch-hub.ts';

/** What to watch, and how the watch presents its pairs. */
export interface Watched<T> {
  readonly target: Target;
  /** What the token lacks if the servers deny the watch. */
  missing(): MissingPermission;
  state(pairs: readonly Pair[]): T;
}

export function watchTarget<T>(hub: WatchHub, { target, missing, state }: Watched<T>, options: WatchOptions): AsyncIterable<T> {
  return watchStates((controller) => hub.subscribe(new WatchSubscriber(target, missing, controller)), state, options);
}

class WatchSubscriber implements QuerySubscriber {
  readonly target: Target;
  readonly #missing: () => MissingPermission;
  readonly #controller: WatchController<readonly Pair[]>;
  /**
   * The paths and indexes that were shown last; undefined if the watch has shown nothing since it
   * became stale.
   */
  #shown: string | undefined;

  constructor(target: Target, missing: () => MissingPermission, controller: WatchController<readonly Pair[]>) {
    this.target = target;
    this.#missing = missing;
    this.#controller = controller;
  }

  onState(pairs: readonly Pair[]): void {
    const shown = pairs.map(({ path, modified }) => `${path} ${modified}`).join('\n');
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#controller.show(pairs);
  }

  onStale(cause: StoreError): void {
    this.#shown = undefined;
    this.#controller.lose(cause);
  }

  onFailed(error: unknown): void {
    this.#controller.fail(withGrant(error, this.#missing));
  }
}
