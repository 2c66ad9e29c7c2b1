/** A stream of states of which only the latest counts: a consumer that is slow gets the one that holds when it asks. */

export class StateStream<T> implements AsyncIterator<T, void, undefined> {
  /** Makes the state when it is asked for, so that states that nobody takes cost nothing. */
  #state: (() => T) | undefined;
  #ended = false;
  #failure: { readonly error: unknown } | undefined;
  readonly #waiting: PromiseWithResolvers<IteratorResult<T, void>>[] = [];

  put(state: () => T): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#state = state;
    else next.resolve({ done: false, value: state() });
  }

  /** Forgets what nobody has taken: it no longer holds. */
  drop(): void {
    this.#state = undefined;
  }

  /** Ends the stream quietly. What nobody has taken is dropped. */
  end(): void {
    this.#ended = true;
    this.#state = undefined;
    for (const next of this.#waiting.splice(0)) next.resolve({ done: true, value: undefined });
  }

  /** Ends the stream with an error, for whoever waits or asks next. */
  fail(error: unknown): void {
    if (this.#ended) return;
    const next = this.#waiting.shift();
    if (next === undefined) this.#failure = { error };
    else next.reject(error);
    this.end();
  }

  next(): Promise<IteratorResult<T, void>> {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) return Promise.reject(failure.error);
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    const state = this.#state;
    this.#state = undefined;
    if (state !== undefined) return Promise.resolve({ done: false, value: state() });
    const next = Promise.withResolvers<IteratorResult<T, void>>();
    this.#waiting.push(next);
    return next.promise;
  }
}
