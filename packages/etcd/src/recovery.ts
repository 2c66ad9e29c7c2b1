/**
 * Who may try to (re)establish a watch, and when. Thousands of watches share one connection and lose it together: they come back a few at
 * a time, and after a failure of any of them nobody tries before a while.
 */

import { systemRandom } from '@incumbent/core/adapter';

/** So many at a time. */
const WIDTH = 32;

/** The wait after a failure doubles from the first to the last; each is spread by chance down to its half. */
const FIRST_WAIT_MS = 100;
const LAST_WAIT_MS = 1_000;

export class Recovery {
  readonly #waiting = new Set<() => void>();
  #running = 0;
  #waitMs = FIRST_WAIT_MS;
  #notBefore = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Runs `task` when it is its turn. Settles as it does, or rejects with the signal's reason if that aborts while it waits. */
  async run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    await this.#turn(signal);
    try {
      const result = await task();
      this.#waitMs = FIRST_WAIT_MS;
      return result;
    } finally {
      this.#running -= 1;
      this.#admit();
    }
  }

  /** Something failed that the others would run into as well. */
  hold(): void {
    if (performance.now() < this.#notBefore) return;
    this.#notBefore = performance.now() + this.#waitMs * (0.5 + 0.5 * (systemRandom.u32() / 2 ** 32));
    this.#waitMs = Math.min(this.#waitMs * 2, LAST_WAIT_MS);
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = (): void => {
        this.#waiting.delete(enter);
        this.#admit();
        reject(signal.reason);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.add(enter);
      this.#admit();
    });
  }

  #admit(): void {
    clearTimeout(this.#timer);
    const waitMs = this.#notBefore - performance.now();
    if (waitMs > 0) {
      if (this.#waiting.size > 0) this.#timer = setTimeout(() => this.#admit(), waitMs).unref();
      return;
    }
    for (const enter of this.#waiting) {
      if (this.#running >= WIDTH) return;
      this.#waiting.delete(enter);
      this.#running += 1;
      enter();
    }
  }
}
