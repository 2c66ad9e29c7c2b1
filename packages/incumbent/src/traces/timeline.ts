/** The times of spans: the wall clock, read once, and from then on the monotonic clock. */

import type { HrTime } from './opentelemetry.ts';

/** The two clocks of a process, in ms. */
export interface TraceClock {
  wall(): number;
  monotonic(): number;
}

/**
 * Converts moments of the monotonic clock to times since the epoch. A change of the wall clock
 * during a failover does not change the length of any span.
 */
export class Timeline {
  readonly #offsetMs: number;

  constructor(clock: TraceClock) {
    this.#offsetMs = clock.wall() - clock.monotonic();
  }

  at(monotonicMs: number): HrTime {
    const ms = monotonicMs + this.#offsetMs;
    const seconds = Math.floor(ms / 1_000);
    return [seconds, Math.min(Math.round((ms - seconds * 1_000) * 1e6), 999_999_999)];
  }
}
