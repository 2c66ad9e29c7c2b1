/** Limits how many calls run at the same time. */

/** At most so many calls at a time; the rest wait in order. */
export class Semaphore {
  #free: number;
  readonly #waiting: { readonly calls: number; readonly enter: () => void }[] = [];

  constructor(width: number) {
    this.#free = width;
  }

  /** Runs a task that makes up to so many calls at the same time: no more than there are permits. Where there is room, it begins before this returns. */
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
