/** One watch: its part of what a query shows, told when it has changed. */

import type { StoreError, WatchOptions } from '@incumbent/core';
import { watchStates, type WatchController } from '@incumbent/core/adapter';

import type { Pair, Target } from './protocol/kv.ts';
import type { Viewer } from './blocking-query.ts';
import type { Snapshot } from './watch-state.ts';
import type { WatchHub } from './watch-hub.ts';

/** What is watched, and what its pairs are to the one who watches. */
export interface View<T> {
  readonly target: Target;
  state(pairs: readonly Pair[]): T;
}

export function watchView<T>(hub: WatchHub, { target, state }: View<T>, options: WatchOptions): AsyncIterable<T> {
  return watchStates((watch) => hub.look(target, new Part(target, watch)), state, options);
}

class Part implements Viewer {
  readonly #target: Target;
  readonly #watch: WatchController<readonly Pair[]>;
  /** What was shown last, as far as it tells changes; undefined: nothing that still holds. */
  #shown: string | undefined;

  constructor(target: Target, watch: WatchController<readonly Pair[]>) {
    this.#target = target;
    this.#watch = watch;
  }

  show(snapshot: Snapshot): void {
    const pairs = snapshot.of(this.#target);
    const shown = pairs.map(({ path, modified }) => `${path} ${modified}`).join('\n');
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#watch.show(pairs);
  }

  lose(cause: StoreError): void {
    this.#shown = undefined;
    this.#watch.lose(cause);
  }

  fail(error: unknown): void {
    this.#watch.fail(error);
  }
}
