/** Measures for how long the event loop was blocked, by a timer that comes late. */

/** The heartbeats of one session, each `everyMs` after the one before. Moments are in ms. */
export class LoopLag {
  readonly everyMs: number;
  #dueAt: number;
  #forgottenAt: number;
  #longestMs = 0;

  constructor(everyMs: number, now: number) {
    this.everyMs = everyMs;
    this.#dueAt = now + everyMs;
    this.#forgottenAt = now;
  }

  /** Notes a heartbeat. Returns how late it is, in ms. */
  beat(now: number): number {
    const lateMs = now - this.#dueAt;
    this.#longestMs = this.longestMs(now);
    this.#dueAt = now + this.everyMs;
    return lateMs;
  }

  /**
   * The longest time that the loop was blocked since `forget`, in ms. Includes the present block:
   * a caller may run before the heartbeat that is due.
   */
  longestMs(now: number): number {
    return Math.max(this.#longestMs, now - Math.max(this.#dueAt, this.#forgottenAt));
  }

  /** Forgets how long the loop was blocked before now. */
  forget(now: number): void {
    this.#longestMs = 0;
    this.#forgottenAt = now;
  }
}
