/**
 * A manual clock that all members share. Timers that are due at the same time run in the order in
 * which they were scheduled.
 */

import type { Cancel, Clock } from '@incumbent/core';

interface Due {
  readonly atMs: number;
  /** Undefined: cancelled. */
  task: (() => void) | undefined;
}

export class StageTime implements Clock {
  #nowMs = 0;
  readonly #due: Due[] = [];

  monotonic(): number {
    return this.#nowMs;
  }

  wall(): number {
    return this.#nowMs;
  }

  keepAlive(): Cancel {
    return () => {};
  }

  schedule(delayMs: number, task: () => void): Cancel {
    const due: Due = { atMs: this.#nowMs + delayMs, task };
    const at = this.#due.findLastIndex(({ atMs }) => atMs <= due.atMs);
    this.#due.splice(at + 1, 0, due);
    return () => {
      due.task = undefined;
    };
  }

  /** Advances to the next timer that is due, but not beyond this time. */
  step(untilMs: number): boolean {
    const [next] = this.#due;
    if (next === undefined || next.atMs > untilMs) {
      this.#nowMs = untilMs;
      return false;
    }
    this.#due.shift();
    this.#nowMs = next.atMs;
    next.task?.();
    return true;
  }
}
