/**
 * Until when something is believed, by both clocks of this process at once. The monotonic one stands still, on some systems, while the machine is suspended: that is told
 * by the wall clock alone. So where that is set back, the deadline goes back with it: else what a sleep had used up, or uses up later, would be given again.
 */

import { momentOf, type Clock, type Moment } from '../base/clock.ts';

/** By how much the wall clock may fall behind the monotonic one from one look to the next, in ms, and has not been set back: it is slewed, or was read late. */
const UNSTEPPED_MS = 5;

interface SetBack {
  /** When it was seen. */
  readonly monotonicMs: number;
  readonly byMs: number;
}

export class Deadline {
  readonly #clock: Clock;
  #monotonicMs = 0;
  #wallMs = 0;
  /** How far the wall clock was ahead of the monotonic one when last looked at. */
  #leadMs: number;
  #setBacks: readonly SetBack[] = [];

  constructor(clock: Clock, from: Moment, forMs: number) {
    this.#clock = clock;
    this.#leadMs = leadOf(from);
    this.reach(from, forMs);
  }

  /** So long after that moment. */
  reach(from: Moment, forMs: number): void {
    this.#setBacks = this.#setBacks.filter(({ monotonicMs }) => monotonicMs > from.monotonicMs);
    this.#monotonicMs = from.monotonicMs + forMs;
    this.#wallMs = from.wallMs + forMs;
    for (const { byMs } of this.#setBacks) this.#wallMs -= byMs;
  }

  /** Now; and notes whether the wall clock was set back since the last look. What is set back, and slept, between two looks goes unseen. */
  look(): Moment {
    const now = momentOf(this.#clock);
    const [before, leadMs] = [this.#leadMs, leadOf(now)];
    this.#leadMs = leadMs;
    if (before - leadMs > UNSTEPPED_MS) {
      this.#setBacks = [...this.#setBacks, { monotonicMs: now.monotonicMs, byMs: before - leadMs }];
      this.#wallMs -= before - leadMs;
    }
    return now;
  }

  /** 0 or less: it has passed. */
  remainingMs(): number {
    return Math.min(this.monotonicallyMs(), this.#wallMs - this.#clock.wall());
  }

  /** The same by the monotonic clock alone. */
  monotonicallyMs(): number {
    return this.#monotonicMs - this.#clock.monotonic();
  }
}

function leadOf({ monotonicMs, wallMs }: Moment): number {
  return wallMs - monotonicMs;
}
