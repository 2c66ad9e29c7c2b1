/** For what thousands have, and few ask for. */

/** A promise that is made when somebody asks for it: most never are. */
export class LazyPromise<T> {
  #settled: { readonly value: T } | undefined;
  #asked: PromiseWithResolvers<T> | undefined;

  /** What it is settled with; undefined before that. */
  get value(): T | undefined {
    return this.#settled?.value;
  }

  get promise(): Promise<T> {
    this.#asked ??= Promise.withResolvers<T>();
    if (this.#settled !== undefined) this.#asked.resolve(this.#settled.value);
    return this.#asked.promise;
  }

  /** Does nothing the second time. */
  resolve(value: T): void {
    this.#settled ??= { value };
    this.#asked?.resolve(this.#settled.value);
  }
}
