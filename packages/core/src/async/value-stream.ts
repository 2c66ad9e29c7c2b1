/**
 * A value that changes. Subscribers get every value; an async iteration gets the latest one and may
 * skip values in between.
 */

import type { Cancel } from '../base/clock.ts';
import { checkSignal, endQuietly, onAbort, type SignalOptions } from './abort.ts';
import { runCallback } from './callback.ts';

/** Declared as a method, so that the type parameter is bivariant. */
interface Subscriber<T> {
  tell(value: T): void;
}

/** The latest of a sequence of values. Has no value before the first `set`. */
export class ValueStream<T> {
  readonly #fail: (error: unknown) => void;
  readonly #subscribers = new Set<Subscriber<T>['tell']>();
  readonly #waiting = new Set<() => void>();
  #state: { readonly value: T } | undefined;
  #ended: 'quietly' | { readonly error: unknown } | undefined;

  /** Calls `fail` with the error of a subscriber that throws or rejects. */
  constructor(fail: (error: unknown) => void) {
    this.#fail = fail;
  }

  get value(): T | undefined {
    return this.#state?.value;
  }

  /** True when no further value comes. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** Has no effect after the end. */
  set(value: T): void {
    if (this.ended) return;
    const state = { value };
    this.#state = state;
    for (const subscriber of [...this.#subscribers]) {
      // A subscriber may set a newer value. All subscribers have that one by now.
      if (this.#state !== state) return;
      // A subscriber may cancel another one.
      if (this.#subscribers.has(subscriber)) this.#tell(subscriber, value);
    }
    this.#wake();
  }

  /** Forgets the latest value: iterations and subscriptions that have not got it never will. */
  clear(): void {
    this.#state = undefined;
  }

  /** Ends every iteration and every subscription. Iterations throw the error if there is one. */
  end(failure?: { readonly error: unknown }): void {
    this.#ended ??= failure ?? 'quietly';
    this.#subscribers.clear();
    this.#wake();
  }

  /** Calls the subscriber with the present value, if there is one, and with every later one. */
  subscribe(subscriber: (value: T) => void): Cancel {
    const own = (value: T): void => subscriber(value);
    this.#subscribers.add(own);
    if (this.#state !== undefined) this.#tell(own, this.#state.value);
    return () => {
      this.#subscribers.delete(own);
    };
  }

  /**
   * The iteration of `values` for a user. Calls `begin` at the first `next`, and the function that
   * it returns at the end. `return` ends the iteration at once: that of an async generator alone
   * would wait for a pending `next`, and so for the next change.
   */
  iterate(options: SignalOptions, begin: () => Cancel | Promise<Cancel>): AsyncGenerator<T, void, undefined> {
    const over = new AbortController();
    const values = this.#iterate(options, begin, over);
    const end = values.return.bind(values);
    values.return = (value) => {
      endQuietly(over);
      return end(value);
    };
    return values;
  }

  /**
   * Yields the present value, then the latest one after every change. Ends without an error when
   * the signal aborts.
   */
  async *values(signal: AbortSignal | undefined): AsyncGenerator<T, void, undefined> {
    let seen: object | undefined;
    while (signal?.aborted !== true) {
      const state = this.#state;
      if (state !== undefined && state !== seen) {
        seen = state;
        yield state.value;
      } else if (this.#ended !== undefined) {
        if (this.#ended === 'quietly') return;
        throw this.#ended.error;
      } else await this.#change(signal);
    }
  }

  async *#iterate(
    options: SignalOptions,
    begin: () => Cancel | Promise<Cancel>,
    over: AbortController,
  ): AsyncGenerator<T, void, undefined> {
    const ends = [onAbort(checkSignal(options), () => endQuietly(over))];
    try {
      ends.push(await begin());
      yield* this.values(over.signal);
    } finally {
      for (const end of ends) end();
    }
  }

  async #change(signal: AbortSignal | undefined): Promise<void> {
    const changed = Promise.withResolvers<void>();
    const wake = (): void => changed.resolve();
    this.#waiting.add(wake);
    const stop = onAbort(signal, wake);
    await changed.promise;
    stop();
    this.#waiting.delete(wake);
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  #tell(subscriber: (value: T) => unknown, value: T): void {
    runCallback(() => subscriber(value), this.#fail);
  }
}
