/**
 * Turns an adapter's notifications into the iterable that `Store.watch` and `Store.watchList`
 * return. Implements the rules of the contract that are the same for every store.
 */

import type { Cancel } from '../base/clock.ts';
import type { StoreError } from '../base/errors.ts';
import { type AbortListener, addAbortListener, removeAbortListener } from '../async/abort.ts';
import type { WatchOptions } from './contract.ts';

/** How an adapter reports to a watch. After the end of the watch, its methods have no effect. */
export interface WatchController<S> {
  /** Reports the present state, changed or not. */
  show(seen: S): void;
  /**
   * Reports that the last state can no longer be confirmed. The watch does not yield that state any
   * more, and calls `onStale` once, until it yields a state again.
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
 * form only when the consumer requests it, at most once for each call of `show`.
 */
export function watchStates<S, T>(
  begin: (watch: WatchController<S>) => Cancel,
  state: (seen: S) => T,
  options: WatchOptions = {},
): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => new Watch(begin, state, options) };
}

type Next<T> = IteratorResult<T, void>;

type Answer<T> = (next: Next<T> | Promise<never>) => void;

/** A class with few fields instead of an async generator, because a process may have thousands. */
class Watch<S, T> implements AsyncIterator<T, void, undefined>, WatchController<S>, AbortListener {
  readonly #state: (seen: S) => T;
  readonly #options: WatchOptions;
  /** Undefined after the call. */
  #begin: ((watch: WatchController<S>) => Cancel) | undefined;
  #cancel: Cancel | undefined;
  /** The latest state that the consumer has not received. */
  #seen: { readonly seen: S } | undefined;
  #failure: { readonly error: unknown } | undefined;
  /** The requests that found no state, in their order. Undefined if there are none. */
  #requests: Answer<T>[] | undefined;
  #isStale = false;
  #ended = false;

  constructor(begin: (watch: WatchController<S>) => Cancel, state: (seen: S) => T, options: WatchOptions) {
    this.#begin = begin;
    this.#state = state;
    this.#options = options;
  }

  next(): Promise<Next<T>> {
    if (this.#begin !== undefined) this.#start(this.#begin);
    return new Promise((answer) => {
      if (this.#requests !== undefined) this.#requests.push(answer);
      else if (this.#mayGive()) answer(this.#give());
      else this.#requests = [answer];
    });
  }

  aborted(): void {
    this.#end();
  }

  return(): Promise<Next<T>> {
    this.#end();
    this.#failure = undefined;
    return Promise.resolve({ done: true, value: undefined });
  }

  show(seen: S): void {
    if (this.#ended) return;
    this.#seen = { seen };
    this.#answerSoon();
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
      if (signal !== undefined) addAbortListener(signal, this);
    } catch (error) {
      this.fail(error);
    }
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#begin = this.#seen = undefined;
    this.#answerSoon();
    const { signal } = this.#options;
    if (signal !== undefined) removeAbortListener(signal, this);
    this.#cancel?.();
  }

  /** A state that was shown and lost in the same turn of the event loop is not yielded. */
  #answerSoon(): void {
    if (this.#requests !== undefined) queueMicrotask(() => this.#answer());
  }

  #answer(): void {
    const requests = this.#requests ?? [];
    while (this.#mayGive() && requests.length > 0) requests.shift()?.(this.#outcome());
    if (requests.length === 0) this.#requests = undefined;
  }

  /** What a request resolves with: a failure is a rejected promise. */
  #outcome(): Next<T> | Promise<never> {
    try {
      return this.#give();
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #mayGive(): boolean {
    return this.#ended || this.#seen !== undefined;
  }

  #give(): Next<T> {
    const [failure, seen] = [this.#failure, this.#seen];
    this.#failure = this.#seen = undefined;
    if (failure !== undefined) throw failure.error;
    if (seen === undefined) return { done: true, value: undefined };
    this.#isStale = false;
    try {
      return { done: false, value: this.#state(seen.seen) };
    } catch (error) {
      this.#end();
      throw error;
    }
  }
}
