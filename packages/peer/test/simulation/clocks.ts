/**
 * Records what has happened to the clocks of a process, so that the simulation causes no fault that
 * a process cannot notice.
 */

/** One that was under way, or elects it, and one that reads the clocks. */
const STEPS = 2;

/**
 * A wall clock that is set back hides as much of a sleep, unless the process has looked at its
 * clocks in between. A leader looks at them with each step; and what anybody believes counts from
 * less than an election timeout ago.
 */
export class Clocks {
  readonly #apartMs: number;
  #sleptAtMs = -Infinity;
  #setBackAtMs = -Infinity;
  #steppedAtMs = -Infinity;
  #steps = 0;

  /** How long, by the monotonic clock, anybody believes at most. */
  constructor(apartMs: number) {
    this.#apartMs = apartMs;
  }

  /** The process has made a step. All times are of its monotonic clock. */
  stepped(nowMs: number, leads: boolean): void {
    this.#steppedAtMs = nowMs;
    if (leads) this.#steps += 1;
  }

  /** It is to sleep; false: it has not noticed yet that its wall clock was set back. */
  sleep(nowMs: number): boolean {
    if (this.#steps < STEPS && nowMs - this.#setBackAtMs < this.#apartMs) return false;
    this.#sleptAtMs = nowMs;
    return true;
  }

  /**
   * Its wall clock is to be set back; false: it sleeps, or did just now; or has read its clocks in
   * this very ms, which no clock does that ticks faster.
   */
  setBack(nowMs: number): boolean {
    if (nowMs - this.#sleptAtMs < this.#apartMs || nowMs === this.#steppedAtMs) return false;
    this.#setBackAtMs = nowMs;
    this.#steps = 0;
    return true;
  }
}
