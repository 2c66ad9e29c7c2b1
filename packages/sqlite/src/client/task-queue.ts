/** Whose turn it is in this process: steps in the order of asking, and no more of them in one turn of the event loop than it can bear. */

import type { Cancel } from '@incumbent/core';

/** Timers, a renewal among them, have to wait so long at most, but for one step. */
const TURN_MS = 5;
/** A step that takes longer has waited for the disk. */
const LONG_MS = 5;

export class Line {
  readonly #waiting = new Set<() => void>();
  #isCalled = false;
  #isResting = false;

  /** Runs a step when it is its turn, and never in the asker's own turn of the event loop. An urgent one does not wait for those that do. */
  join(step: () => void, urgent: boolean): Cancel {
    if (urgent) {
      const turn = setImmediate(() => this.#run(step));
      return () => clearImmediate(turn);
    }
    const own = (): void => step();
    this.#waiting.add(own);
    this.#call();
    return () => {
      this.#waiting.delete(own);
    };
  }

  #call(): void {
    if (this.#isCalled || this.#isResting || this.#waiting.size === 0) return;
    this.#isCalled = true;
    setImmediate(() => {
      this.#isCalled = false;
      this.#turn(performance.now() + TURN_MS);
      this.#call();
    });
  }

  #turn(until: number): void {
    for (const step of this.#waiting) {
      this.#waiting.delete(step);
      this.#run(step);
      if (this.#isResting || performance.now() >= until) return;
    }
  }

  #run(step: () => void): void {
    const began = performance.now();
    step();
    const tookMs = performance.now() - began;
    if (tookMs > LONG_MS) this.#rest(tookMs);
  }

  /** Leaves the file to others for as long as it had it itself: on a slow disk they would never find it free. Who waits keeps the process alive. */
  #rest(ms: number): void {
    this.#isResting = true;
    setTimeout(() => {
      this.#isResting = false;
      this.#call();
    }, ms).unref();
  }
}
