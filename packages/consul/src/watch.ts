/** One watch: what a query shows, as a stream of states that keeps the contract's promises. */

import type { StoreError, WatchOptions } from '@incumbent/core';
import { onAbort, StateStream } from '@incumbent/core/adapter';

import type { Pair, Target } from './api/kv.ts';
import type { Viewer } from './query.ts';
import type { Snapshot } from './snapshot.ts';
import type { WatchHub } from './watch-hub.ts';

/** What is watched, and what its pairs are to the one who watches. */
export interface View<T> {
  readonly target: Target;
  state(pairs: readonly Pair[]): T;
}

/** A watch for everyone who iterates: it begins when the first state is asked for. */
export function watchStates<T>(hub: WatchHub, view: View<T>, options: WatchOptions): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => new Watch(hub, view, options) };
}

class Watch<T> implements AsyncIterator<T, void, undefined>, Viewer {
  readonly #hub: WatchHub;
  readonly #view: View<T>;
  readonly #options: WatchOptions;
  readonly #states = new StateStream<T>();
  readonly #stops: (() => void)[] = [];
  /** What was shown last, as far as it tells changes; undefined: nothing that still holds. */
  #shown: string | undefined;
  #started = false;
  #stopped = false;
  #saidStale = false;

  constructor(hub: WatchHub, view: View<T>, options: WatchOptions) {
    this.#hub = hub;
    this.#view = view;
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

  show(snapshot: Snapshot): void {
    const pairs = snapshot.of(this.#view.target);
    const shown = pairs.map(({ path, modified }) => `${path} ${modified}`).join('\n');
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#saidStale = false;
    this.#states.put(() => this.#view.state(pairs));
  }

  lose(cause: StoreError): void {
    if (this.#stopped || this.#saidStale) return;
    this.#saidStale = true;
    this.#shown = undefined;
    this.#states.drop();
    try {
      this.#options.onStale?.(cause);
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  fail(error: unknown): void {
    this.#states.fail(error);
    this.#stop();
  }

  #start(): void {
    this.#started = true;
    this.#stops.push(onAbort(this.#options.signal, () => this.#stop()));
    if (this.#stopped) return;
    const leave = this.#hub.look(this.#view.target, this);
    if (this.#stopped) leave();
    else this.#stops.push(leave);
  }

  #stop(): void {
    this.#stopped = true;
    for (const stop of this.#stops.splice(0)) stop();
    this.#states.end();
  }
}
