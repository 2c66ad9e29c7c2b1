/** Notices that no request of a client has come for a time. */

import type { Cancel, Clock } from '@incumbent/core';

/** A timer that fires this much too late, in ms, shows that this process stood still. */
const PAUSE_MS = 500;

export class SilenceTimer {
  readonly #clock: Clock;
  #cancel: Cancel = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Calls `silent` after this time, unless `start` or `stop` is called before. Begins again if this
   * process stood still meanwhile, because requests of the client may be waiting to be read.
   */
  start(delayMs: number, silent: () => void): void {
    this.stop();
    const dueMs = this.#clock.monotonic() + delayMs;
    this.#cancel = this.#clock.schedule(delayMs, () => {
      if (this.#clock.monotonic() - dueMs > PAUSE_MS) this.start(delayMs, silent);
      else silent();
    });
  }

  stop(): void {
    this.#cancel();
    this.#cancel = () => {};
  }
}
