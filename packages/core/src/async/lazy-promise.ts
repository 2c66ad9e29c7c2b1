/**
 * Allocates the promise only when it is first read. Thousands of these exist, and few are awaited.
 */
export class LazyPromise<T> {
  #settled: { readonly value: T } | undefined;
  #asked: PromiseWithResolvers<T> | undefined;

  /** The value that it was resolved with; undefined before that. */
  get value(): T | undefined {
    return this.#settled?.value;
  }

  get promise(): Promise<T> {
    this.#asked ??= Promise.withResolvers<T>();
    if (this.#settled !== undefined) this.#asked.resolve(this.#settled.value);
    return this.#asked.promise;
  }

  /** Has no effect after the first call. */
  resolve(value: T): void {
    this.#settled ??= { value };
    this.#asked?.resolve(this.#settled.value);
  }
}
