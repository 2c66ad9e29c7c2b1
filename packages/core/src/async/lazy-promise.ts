/**
 * Allocates the promise only when it is first read. Thousands of these exist, and few are awaited.
 */
export class LazyPromise<T> {
  #settled: { readonly value: T } | undefined;
  #requested: PromiseWithResolvers<T> | undefined;

  /** The value that it was resolved with; undefined before that. */
  get value(): T | undefined {
    return this.#settled?.value;
  }

  get promise(): Promise<T> {
    this.#requested ??= Promise.withResolvers<T>();
    if (this.#settled !== undefined) this.#requested.resolve(this.#settled.value);
    return this.#requested.promise;
  }

  /** Has no effect after the first call. */
  resolve(value: T): void {
    this.#settled ??= { value };
    this.#requested?.resolve(this.#settled.value);
  }
}
