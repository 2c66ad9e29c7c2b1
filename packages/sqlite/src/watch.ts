/** One watch: an iteration over what a view shows. */

import type { Cancel, StoreError, WatchOptions } from '@incumbent/core';
import { onAbort, StateStream } from '@incumbent/core/adapter';

import type { Row } from './tables.ts';
import type { Reader } from './view.ts';

/** Begins when the first state is asked for, and anew for everyone who iterates. */
export function watchStates<T>(
  begin: (reader: Reader) => Cancel,
  show: (rows: readonly Row[]) => T,
  options: WatchOptions,
): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => new Watch(begin, show, options) };
}

class Watch<T> implements AsyncIterator<T, void, undefined>, Reader {
  readonly #begin: (reader: Reader) => Cancel;
  readonly #show: (rows: readonly Row[]) => T;
  readonly #options: WatchOptions;
  readonly #states = new StateStream<T>();
  #cancels: readonly Cancel[] | undefined;

  constructor(begin: (reader: Reader) => Cancel, show: (rows: readonly Row[]) => T, options: WatchOptions) {
    this.#begin = begin;
    this.#show = show;
    this.#options = options;
  }

  next(): Promise<IteratorResult<T, void>> {
    this.#start();
    return this.#states.next();
  }

  return(): Promise<IteratorResult<T, void>> {
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }

  show(rows: readonly Row[]): void {
    this.#states.put(() => this.#show(rows));
  }

  stale(cause: StoreError): void {
    this.#states.drop();
    try {
      this.#options.onStale?.(cause);
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  fail(cause: unknown): void {
    this.#states.fail(cause);
    this.#end();
  }

  #start(): void {
    if (this.#cancels !== undefined) return;
    this.#cancels = [];
    const { signal } = this.#options;
    if (signal.aborted) return this.#end();
    try {
      this.#cancels = [this.#begin(this), onAbort(signal, () => this.#end())];
    } catch (error) {
      this.fail(error);
    }
  }

  #end(): void {
    for (const cancel of this.#cancels ?? []) cancel();
    this.#cancels = [];
    this.#states.end();
  }
}
