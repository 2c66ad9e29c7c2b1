/** A clock for tests that stop a process, or block its event loop. */

import type { Cancel, Clock } from '../base/clock.ts';

/**
 * Shows the time of another clock, and can be paused. During a pause, time goes on, but no timer of
 * this clock runs. A stopped process, or one with a blocked event loop, behaves in this way.
 */
export class PausableClock implements Clock {
  readonly #clock: Clock;
  #paused = false;
  #due: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  wall(): number {
    return this.#clock.wall();
  }

  schedule(delayMs: number, task: () => void): Cancel {
    let cancelled = false;
    const run = (): void => {
      if (cancelled) return;
      if (this.#paused) this.#due.push(run);
      else task();
    };
    const cancel = this.#clock.schedule(delayMs, run);
    return () => {
      cancelled = true;
      cancel();
    };
  }

  keepAlive(): Cancel {
    return this.#clock.keepAlive();
  }

  /** Holds back every timer that becomes due from now on. */
  pause(): void {
    this.#paused = true;
  }

  /** Runs the timers that became due during the pause, in that order. */
  resume(): void {
    this.#paused = false;
    const due = this.#due;
    this.#due = [];
    for (const task of due) task();
  }
}
