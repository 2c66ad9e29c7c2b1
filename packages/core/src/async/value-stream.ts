/** A value that changes, for those who want the latest: as a callback, or as an async iteration that never lags behind by more than one. */

import type { Cancel } from '../base/clock.ts';
import { onAbort } from './abort.ts';

/** In the form of a method, so that an observer of some value is an observer of anything. */
interface Subscriber<T> {
  tell(value: T): void;
}

export class ValueStream<T> {
  readonly #fail: (error: unknown) => void;
  readonly #subscribers = new Set<Subscriber<T>['tell']>();
  readonly #waiting = new Set<() => void>();
  #state: { readonly value: T } | undefined;
  #ended: 'quietly' | { readonly error: unknown } | undefined;

  /** `fail` hears of subscribers that throw. */
  constructor(fail: (error: unknown) => void) {
    this.#fail = fail;
  }

  get value(): T | undefined {
    return this.#state?.value;
  }

  /** Whether there will be no more. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** Does nothing once it has ended. */
  set(value: T): void {
    if (this.ended) return;
    this.#state = { value };
    for (const subscriber of [...this.#subscribers]) {
      // One that is told may stop another.
      if (this.#subscribers.has(subscriber)) this.#tell(subscriber, value);
    }
    this.#wake();
  }

  /** Ends every iteration: with the error, or quietly. */
  end(failure?: { readonly error: unknown }): void {
    this.#ended ??= failure ?? 'quietly';
    this.#subscribers.clear();
    this.#wake();
  }

  /** Calls with the value now, if there is one, and with every later one. */
  subscribe(subscriber: (value: T) => void): Cancel {
    const own = (value: T): void => subscriber(value);
    this.#subscribers.add(own);
    if (this.#state !== undefined) this.#tell(own, this.#state.value);
    return () => {
      this.#subscribers.delete(own);
    };
  }

  /** The value now, then the latest after every change; ends quietly when the signal aborts. */
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

  /** A subscriber may well be an async function: its rejection is a throw like any other. */
  #tell(subscriber: (value: T) => unknown, value: T): void {
    try {
      const result = subscriber(value);
      if (result instanceof Promise) result.catch((error: unknown) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
    }
  }
}
