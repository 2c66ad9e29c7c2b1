/** Limits how many calls run at the same time. */

/** Runs at most `width` calls at the same time. The others wait in the order of their arrival. */
export class Semaphore {
  #free: number;
  readonly #waiting: { readonly calls: number; readonly enter: () => void }[] = [];

  constructor(width: number) {
    this.#free = width;
  }

  /**
   * Runs a task that makes up to `calls` calls at the same time. `calls` is from 1 to `width`. The
   * task begins before this method returns if enough permits are free and no earlier task waits.
   */
  async run<T>(task: () => Promise<T>, calls = 1): Promise<T> {
    if (this.#waiting.length === 0 && calls <= this.#free) this.#free -= calls;
    else await new Promise<void>((enter) => this.#waiting.push({ calls, enter }));
    try {
      return await task();
    } finally {
      this.#free += calls;
      this.#admit();
    }
  }

  #admit(): void {
    for (let first = this.#waiting[0]; first !== undefined && first.calls <= this.#free; first = this.#waiting[0]) {
      this.#waiting.shift();
      this.#free -= first.calls;
      first.enter();
    }
  }
}
