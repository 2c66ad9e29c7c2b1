/** When lost watches may start again. */

import type { Clock, Random } from '@incumbent/core';
import { orAborted, Semaphore, sleep } from '@incumbent/core/adapter';
import { RetryGate } from '@incumbent/network';

const MAX_RUNNING = 32;

/**
 * Thousands of watches share one connection and lose it together. They start again 32 at a time,
 * and after a failure of any of them all pause for 50 ms to 1 s.
 */
export class WatchRecovery {
  readonly #clock: Clock;
  readonly #gate: RetryGate;
  readonly #running = new Semaphore(MAX_RUNNING);

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#gate = new RetryGate(clock, random);
  }

  /**
   * Runs `task` when one of the 32 places is free and no pause is left. Settles as the task does.
   * If the signal aborts before the task starts, rejects with its reason at once.
   */
  async run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const place = Promise.withResolvers<void>();
    const result = this.#running.run(async () => {
      place.resolve();
      while (this.#gate.leftMs > 0 && !signal.aborted) await sleep(this.#clock, this.#gate.leftMs, signal);
      signal.throwIfAborted();
      const done = await task();
      this.#gate.reset();
      return done;
    });
    // While the call waits for its place, nobody listens to this promise.
    result.catch(() => {});
    // Only the wait for the place ends at the abort. The result of a task that has started is
    // always returned: it may hold a watch, which somebody must close.
    await orAborted(place.promise, signal);
    return result;
  }

  /** Starts a pause after a failure that the other watches would meet too. */
  hold(): void {
    this.#gate.hold();
  }
}
