/**
 * Records what has happened to the clocks of a process, so that the simulation causes no fault that
 * a process cannot notice.
 */

/** One step may be in progress or elect the member; the next one reads the clocks. */
const STEPS = 2;

/**
 * A wall clock that is set back hides a sleep of the same length, unless the process reads its
 * clocks in between. A leader reads them with each step. No leadership is valid for longer than an
 * election timeout, so older sleeps do not matter.
 */
export class Clocks {
  readonly #apartMs: number;
  #sleptAtMs = -Infinity;
  #setBackAtMs = -Infinity;
  #steppedAtMs = -Infinity;
  #steps = 0;

  /** `apartMs`: the longest time for which a leadership is valid, on the monotonic clock. */
  constructor(apartMs: number) {
    this.#apartMs = apartMs;
  }

  /** The process has made a step. All times are on its monotonic clock. */
  stepped(nowMs: number, leads: boolean): void {
    this.#steppedAtMs = nowMs;
    if (leads) this.#steps += 1;
  }

  /**
   * Asks whether the process may sleep. False: it has not noticed yet that its wall clock was set
   * back.
   */
  sleep(nowMs: number): boolean {
    if (this.#steps < STEPS && nowMs - this.#setBackAtMs < this.#apartMs) return false;
    this.#sleptAtMs = nowMs;
    return true;
  }

  /**
   * Asks whether the wall clock may be set back. False: the process sleeps or has just slept, or it
   * has read its clocks in this millisecond, which a finer real clock would tell apart.
   */
  setBack(nowMs: number): boolean {
    if (nowMs - this.#sleptAtMs < this.#apartMs || nowMs === this.#steppedAtMs) return false;
    this.#setBackAtMs = nowMs;
    this.#steps = 0;
    return true;
  }
}
