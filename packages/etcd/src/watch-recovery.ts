/** When lost watches may start again. */

import type { Clock, Random } from '@incumbent/core';
import { Semaphore, sleep } from '@incumbent/core/adapter';
import { RetryGate } from '@incumbent/network';

const MAX_RUNNING = 32;

/** Somebody who starts something and may give up before it has started. */
export interface Stoppable {
  readonly stopped: boolean;
  /** Aborts when `stopped` becomes true. Read it only to wait for that: reading it creates it. */
  readonly signal: AbortSignal;
}

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
   * If the caller stops before the task starts, rejects instead of starting it: at once during a
   * pause, otherwise when it is the caller's turn.
   */
  run<T>(task: () => Promise<T>, caller: Stoppable): Promise<T> {
    return this.#running.run(async () => {
      while (this.#gate.leftMs > 0 && !caller.stopped) await sleep(this.#clock, this.#gate.leftMs, caller.signal);
      if (caller.stopped) throw new Error('the watch was stopped before it started');
      const done = await task();
      this.#gate.reset();
      return done;
    });
  }

  /** Starts a pause after a failure that the other watches would meet too. */
  hold(): void {
    this.#gate.hold();
  }
}
