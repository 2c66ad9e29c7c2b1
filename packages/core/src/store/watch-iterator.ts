/**
 * Turns an adapter's notifications into the iterable that `Store.watch` and `Store.watchList`
 * return. Implements the rules of the contract that are the same for every store.
 */

import type { Cancel } from '../base/clock.ts';
import type { StoreError } from '../base/errors.ts';
import { onAbort } from '../async/abort.ts';
import type { WatchOptions } from './contract.ts';

/** How an adapter reports to a watch. After the end of the watch, its methods have no effect. */
export interface WatchController<S> {
  /** Reports the present state, changed or not. */
  show(seen: S): void;
  /**
   * Reports that the last state can no longer be confirmed. The watch does not yield that state any
   * more, and calls `onStale` once, until the next `show`.
   */
  lose(cause: StoreError): void;
  /** Ends the watch with an error. */
  fail(error: unknown): void;
}

/**
 * Creates a watch for each iteration. Calls `begin` when the first state is requested, and the
 * function that `begin` returns once, at the end of the watch. The watch ends when the signal
 * aborts, when the iterator's `return` is called, and when it fails, also because `begin` or
 * `state` throws. A slow consumer gets the latest state. `state` converts it into the contract's
 * form only when the consumer requests it.
 */
export function watchStates<S, T>(
  begin: (watch: WatchController<S>) => Cancel,
  state: (seen: S) => T,
  options: WatchOptions = {},
): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => new Watch(begin, state, options) };
}

type Next<T> = IteratorResult<T, void>;

/** A class with few fields instead of an async generator, because a process may have thousands. */
class Watch<S, T> implements AsyncIterator<T, void, undefined>, WatchController<S> {
  readonly #state: (seen: S) => T;
  readonly #options: WatchOptions;
  /** Undefined after the call. */
  #begin: ((watch: WatchController<S>) => Cancel) | undefined;
  #cancel: Cancel | undefined;
  #ignoreSignal: Cancel | undefined;
  /** The latest state that the consumer has not received. */
  #seen: { readonly seen: S } | undefined;
  #failure: { readonly error: unknown } | undefined;
  /** All requests that found no state wait for this promise. Each then tries again. */
  #news: Promise<void> | undefined;
  #resolveNews: (() => void) | undefined;
  #isStale = false;
  #ended = false;

  constructor(begin: (watch: WatchController<S>) => Cancel, state: (seen: S) => T, options: WatchOptions) {
    this.#begin = begin;
    this.#state = state;
    this.#options = options;
  }

  next(): Promise<Next<T>> {
    if (this.#begin !== undefined) this.#start(this.#begin);
    if (!this.#mayGive()) this.#news ??= this.#untilNews();
    const news = this.#news;
    return news === undefined ? new Promise((resolve) => resolve(this.#give())) : news.then(() => this.#comeBack(news));
  }

  return(): Promise<Next<T>> {
    this.#end();
    this.#failure = undefined;
    return Promise.resolve({ done: true, value: undefined });
  }

  show(seen: S): void {
    if (this.#ended) return;
    this.#isStale = false;
    this.#seen = { seen };
    this.#resolveNews?.();
  }

  lose(cause: StoreError): void {
    this.#seen = undefined;
    if (this.#ended || this.#isStale) return;
    this.#isStale = true;
    try {
      this.#options.onStale?.(cause);
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  fail(error: unknown): void {
    if (this.#ended) return;
    this.#failure = { error };
    this.#end();
  }

  /** `begin` itself may end the watch. */
  #start(begin: (watch: WatchController<S>) => Cancel): void {
    this.#begin = undefined;
    const { signal } = this.#options;
    if (signal?.aborted === true) return this.#end();
    try {
      const cancel = begin(this);
      if (this.#ended) return cancel();
      this.#cancel = cancel;
      this.#ignoreSignal = onAbort(signal, () => this.#end());
    } catch (error) {
      this.fail(error);
    }
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#begin = this.#seen = undefined;
    this.#resolveNews?.();
    this.#ignoreSignal?.();
    this.#cancel?.();
  }

  #untilNews(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolveNews = resolve;
    });
  }

  /**
   * Answers the requests in their order. A state that was shown and lost in the same turn of the
   * event loop is not yielded, so there may be nothing to yield.
   */
  #comeBack(news: Promise<void>): Next<T> | Promise<Next<T>> {
    if (news === this.#news) this.#news = undefined;
    return this.#news === undefined && this.#mayGive() ? this.#give() : this.next();
  }

  #mayGive(): boolean {
    return this.#ended || this.#seen !== undefined;
  }

  #give(): Next<T> {
    const [failure, seen] = [this.#failure, this.#seen];
    this.#failure = this.#seen = undefined;
    if (failure !== undefined) throw failure.error;
    if (seen === undefined) return { done: true, value: undefined };
    try {
      return { done: false, value: this.#state(seen.seen) };
    } catch (error) {
      this.#end();
      throw error;
    }
  }
}
