/** Measures for how long the event loop was blocked, by a timer that comes late. */

/** The heartbeats of one session, each `everyMs` after the one before. Moments are in ms. */
export class LoopLag {
  readonly everyMs: number;
  #beatAt: number;
  #longestMs = 0;

  constructor(everyMs: number, now: number) {
    this.everyMs = everyMs;
    this.#beatAt = now;
  }

  /** Notes a heartbeat. Returns how late it is, in ms. */
  beat(now: number): number {
    const lateMs = this.#lateMs(now);
    this.#longestMs = Math.max(this.#longestMs, lateMs);
    this.#beatAt = now;
    return lateMs;
  }

  /**
   * The longest time that the loop was blocked since `forget`, in ms. Includes the present block:
   * whoever asks may run before the heartbeat that is due.
   */
  longestMs(now: number): number {
    return Math.max(this.#longestMs, this.#lateMs(now));
  }

  /** Forgets all blocks before now. */
  forget(now: number): void {
    this.#longestMs = 0;
    this.#beatAt = now;
  }

  #lateMs(now: number): number {
    return now - this.#beatAt - this.everyMs;
  }
}
