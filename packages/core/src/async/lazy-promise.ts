/**
 * Allocates the promise only when it is first read. Thousands of these exist, and few are awaited.
 */
export class LazyPromise<T> {
  #settled: { readonly value: T } | undefined;
  #promise: Promise<T> | undefined;
  #resolve: ((value: T) => void) | undefined;

  /** The value that it was resolved with; undefined before that. */
  get value(): T | undefined {
    return this.#settled?.value;
  }

  get promise(): Promise<T> {
    this.#promise ??= new Promise((resolve) => {
      if (this.#settled === undefined) this.#resolve = resolve;
      else resolve(this.#settled.value);
    });
    return this.#promise;
  }

  /** Has no effect after the first call. */
  resolve(value: T): void {
    this.#settled ??= { value };
    this.#resolve?.(this.#settled.value);
  }
}
