/** A clock of a process whose event loop can be blocked: time goes on, and no timer runs until it is let go. */

import type { Cancel, Clock } from '../../src/index.ts';

export class BlockableClock implements Clock {
  readonly #behind: Clock;
  #blocked = false;
  #due: (() => void)[] = [];

  constructor(behind: Clock) {
    this.#behind = behind;
  }

  monotonic(): number {
    return this.#behind.monotonic();
  }

  wall(): number {
    return this.#behind.wall();
  }

  schedule(delayMs: number, task: () => void): Cancel {
    let cancelled = false;
    const run = (): void => {
      if (!cancelled) task();
    };
    const cancel = this.#behind.schedule(delayMs, () => {
      if (this.#blocked) this.#due.push(run);
      else run();
    });
    return () => {
      cancelled = true;
      cancel();
    };
  }

  keepAlive(): Cancel {
    return this.#behind.keepAlive();
  }

  block(): void {
    this.#blocked = true;
  }

  letGo(): void {
    this.#blocked = false;
    const due = this.#due;
    this.#due = [];
    for (const run of due) run();
  }
}
