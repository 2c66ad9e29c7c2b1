/** When lost watches may start again. */

import type { Clock, Random } from '@incumbent/core';
import { Semaphore, sleep } from '@incumbent/core/adapter';
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
   * If the signal aborts first, rejects with its reason as soon as a place is free.
   */
  run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#running.run(async () => {
      while (this.#gate.leftMs > 0 && !signal.aborted) await sleep(this.#clock, this.#gate.leftMs, signal);
      signal.throwIfAborted();
      const result = await task();
      this.#gate.reset();
      return result;
    });
  }

  /** Starts a pause after a failure that the other watches would meet too. */
  hold(): void {
    this.#gate.hold();
  }
}
