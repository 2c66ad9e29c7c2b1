/**
 * A clock whose owner can be stopped: time goes on, and nothing of the owner's runs until it is
 * woken.
 */

import type { Cancel, Clock } from '../base/clock.ts';

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

  pause(): void {
    this.#paused = true;
  }

  /** Runs what has become due meanwhile, in the order in which it did. */
  resume(): void {
    this.#paused = false;
    const due = this.#due;
    this.#due = [];
    for (const task of due) task();
  }
}
