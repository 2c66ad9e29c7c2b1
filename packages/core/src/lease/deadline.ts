/**
 * A deadline on both clocks of this process. On some systems the monotonic clock stands still while
 * the machine is suspended, and only the wall clock shows that. So if the wall clock is set back,
 * the deadline moves back with it: otherwise the time of a suspension would be granted again.
 */

import { momentOf, type Clock, type Moment } from '../base/clock.ts';

/**
 * How far the wall clock may fall behind the monotonic clock between two calls of `readClocks`, in
 * ms, without counting as set back: it may be slewed, or was read a little later.
 */
const UNSTEPPED_MS = 5;

/** One time that the wall clock was set back. */
interface SetBack {
  /** When `readClocks` noticed it. */
  readonly monotonicMs: number;
  readonly byMs: number;
}

/** A moment in the future that passes when the first of the two clocks reaches it. */
export class Deadline {
  readonly #clock: Clock;
  #monotonicMs = 0;
  #wallMs = 0;
  /** How far the wall clock was ahead of the monotonic clock at the last `readClocks`. */
  #wallAheadMs: number;
  #setBacks: readonly SetBack[] = [];

  constructor(clock: Clock, from: Moment, forMs: number) {
    this.#clock = clock;
    this.#wallAheadMs = wallAheadOf(from);
    this.moveTo(from, forMs);
  }

  /** Moves the deadline to `forMs` after that moment. */
  moveTo(from: Moment, forMs: number): void {
    this.#setBacks = this.#setBacks.filter(({ monotonicMs }) => monotonicMs > from.monotonicMs);
    this.#monotonicMs = from.monotonicMs + forMs;
    this.#wallMs = from.wallMs + forMs;
    for (const { byMs } of this.#setBacks) this.#wallMs -= byMs;
  }

  /**
   * Returns the present moment, and notes whether the wall clock was set back since the last call.
   * If the machine was suspended and its clock set back by as much between two calls, this cannot
   * notice it.
   */
  readClocks(): Moment {
    const now = momentOf(this.#clock);
    const [before, wallAheadMs] = [this.#wallAheadMs, wallAheadOf(now)];
    this.#wallAheadMs = wallAheadMs;
    if (before - wallAheadMs > UNSTEPPED_MS) {
      this.#setBacks = [...this.#setBacks, { monotonicMs: now.monotonicMs, byMs: before - wallAheadMs }];
      this.#wallMs -= before - wallAheadMs;
    }
    return now;
  }

  /** The time left, in ms. 0 or less after the deadline. */
  remainingMs(): number {
    return Math.min(this.remainingMonotonicMs(), this.#wallMs - this.#clock.wall());
  }

  /** The time left by the monotonic clock alone, in ms. */
  remainingMonotonicMs(): number {
    return this.#monotonicMs - this.#clock.monotonic();
  }
}

function wallAheadOf({ monotonicMs, wallMs }: Moment): number {
  return wallMs - monotonicMs;
}
