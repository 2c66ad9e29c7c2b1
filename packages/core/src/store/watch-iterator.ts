/**
 * A watch of a store, as the contract has it for whoever asks. What is watched, and how, is the
 * adapter's part.
 */

import type { Cancel } from '../base/clock.ts';
import type { StoreError } from '../base/errors.ts';
import { onAbort } from '../async/abort.ts';
import type { WatchOptions } from './contract.ts';

/** By which an adapter tells what it sees. After the end of the watch, none of it counts. */
export interface WatchController<S> {
  /** This is there now, changed or not. */
  show(seen: S): void;
  /**
   * What was shown last can be vouched for no longer: nobody is given it any more. The caller is
   * told of it, once until something is shown again.
   */
  lose(cause: StoreError): void;
  /** The watch cannot go on, and ends. */
  fail(error: unknown): void;
}

/**
 * A watch for everyone who iterates. `begin` is called when the first state is asked for, and what
 * it returns once, at the end: when the signal aborts, the iterator's `return` is called, or the
 * watch fails, as it does where `begin` or `state` throws. A consumer that is slow gets what holds
 * when it asks; `state` makes the contract's state of it, then and not before.
 */
export function watchStates<S, T>(
  begin: (watch: WatchController<S>) => Cancel,
  state: (seen: S) => T,
  options: WatchOptions,
): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => new Watch(begin, state, options) };
}

type Next<T> = IteratorResult<T, void>;

/** There are thousands of them, and each is kept small. */
class Watch<S, T> implements AsyncIterator<T, void, undefined>, WatchController<S> {
  readonly #state: (seen: S) => T;
  readonly #options: WatchOptions;
  /** Until it is called. */
  #begin: ((watch: WatchController<S>) => Cancel) | undefined;
  #cancel: Cancel | undefined;
  #ignoreSignal: Cancel | undefined;
  /** What nobody has taken yet. */
  #seen: { readonly seen: S } | undefined;
  #failure: { readonly error: unknown } | undefined;
  /** Whoever asks while there is nothing to give comes back when there may be. */
  #news: Promise<void> | undefined;
  #tellNews: (() => void) | undefined;
  #saidStale = false;
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
    this.#saidStale = false;
    this.#seen = { seen };
    this.#tellNews?.();
  }

  lose(cause: StoreError): void {
    this.#seen = undefined;
    if (this.#ended || this.#saidStale) return;
    this.#saidStale = true;
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

  /** It may end as it begins. */
  #start(begin: (watch: WatchController<S>) => Cancel): void {
    this.#begin = undefined;
    const { signal } = this.#options;
    if (signal.aborted) return this.#end();
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
    this.#tellNews?.();
    this.#ignoreSignal?.();
    this.#cancel?.();
  }

  #untilNews(): Promise<void> {
    return new Promise((resolve) => {
      this.#tellNews = resolve;
    });
  }

  /**
   * In the order of asking. What there was may be gone again: shown and lost in one turn, it is
   * given to nobody.
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
