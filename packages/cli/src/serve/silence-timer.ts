/** Notices that no request of a client has come for a time. */

import type { Cancel, Clock } from '@incumbent/core';

/**
 * How long this process reads requests, at least, before it says that none has come, in ms. A timer
 * that is due runs before the event loop reads what has come while this process stood still.
 */
export const READ_MS = 50;

export class SilenceTimer {
  readonly #clock: Clock;
  #cancel: Cancel = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Calls `silent` after this time and the time to read the requests that have come, unless `start`
   * or `stop` is called before.
   */
  start(delayMs: number, silent: () => void): void {
    this.#wait(delayMs, (lateMs) => this.#read(lateMs, delayMs, silent));
  }

  stop(): void {
    this.#cancel();
    this.#cancel = () => {};
  }

  /**
   * Waits for as long as this process stood still, and no longer than the client has for its next
   * request: the client may have stood still with this process. Waits again if this process stands
   * still meanwhile.
   */
  #read(lateMs: number, delayMs: number, silent: () => void): void {
    this.#wait(Math.max(Math.min(lateMs, delayMs), READ_MS), (againLateMs) => {
      if (againLateMs > READ_MS) this.#read(againLateMs, delayMs, silent);
      else silent();
    });
  }

  #wait(delayMs: number, then: (lateMs: number) => void): void {
    this.stop();
    const dueMs = this.#clock.monotonic() + delayMs;
    this.#cancel = this.#clock.schedule(delayMs, () => then(this.#clock.monotonic() - dueMs));
  }
}
