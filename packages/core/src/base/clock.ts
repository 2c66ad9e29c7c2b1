/**
 * The clocks of a process. Core waits and measures only through a {@link Clock}, so that a
 * simulation can replay a run from a seed. Only this file reads the system's clocks.
 */

import { hasMethods, invalidOption } from './validate.ts';

/** Cancels a timer or a subscription, or ends a `keepAlive`. A second call has no effect. */
export type Cancel = () => void;

/** One instant on both clocks of a process, in ms. Not comparable between processes. */
export interface Moment {
  /** Never goes back. On some systems it stands still while the machine is suspended. */
  readonly monotonicMs: number;
  /** Since the epoch. May be set back or forth. Goes on while the machine is suspended. */
  readonly wallMs: number;
}

/** The time of a process. Production code uses `systemClock`; tests pass a clock of their own. */
export interface Clock {
  /** Milliseconds since a fixed moment of this process. Never goes back. */
  monotonic(): number;
  /** Milliseconds since the epoch, by the machine's own clock. */
  wall(): number;
  /**
   * Runs `task` once, no earlier than `delayMs` from now. A delay above 2^31 - 1 ms (24.8 days)
   * counts as that. Does not keep the process alive. The returned function prevents the run.
   */
  schedule(delayMs: number, task: () => void): Cancel;
  /** Keeps the process alive until the returned function is called. */
  keepAlive(): Cancel;
}

/** The longest delay that a timer of Node keeps. A longer timer would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

class SystemClock implements Clock {
  #users = 0;
  /** A timer that keeps the process alive. Set while `#users` is above 0. */
  #timer: NodeJS.Timeout | undefined;

  monotonic(): number {
    return performance.now();
  }

  wall(): number {
    return Date.now();
  }

  schedule(delayMs: number, task: () => void): Cancel {
    // Node warns of a delay below 1, but a deadline that has just passed is not a mistake.
    const timer = setTimeout(task, Math.min(Math.max(delayMs, 1), MAX_DELAY_MS));
    timer.unref();
    return () => clearTimeout(timer);
  }

  keepAlive(): Cancel {
    this.#users += 1;
    this.#timer ??= setInterval(() => {}, MAX_DELAY_MS);
    let isOver = false;
    return () => {
      if (!isOver) this.#release();
      isOver = true;
    };
  }

  #release(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** The clocks and timers of this process. The default wherever a `clock` can be passed. */
export const systemClock: Clock = new SystemClock();

/**
 * Returns the option `clock`, or `fallback` if it is undefined.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` if it lacks one of the four functions.
 */
export function checkClock(clock: unknown, fallback: Clock = systemClock): Clock {
  if (clock === undefined) return fallback;
  if (isClock(clock)) return clock;
  throw invalidOption('clock', clock, 'a Clock, with the functions monotonic, wall, schedule and keepAlive');
}

function isClock(value: unknown): value is Clock {
  return hasMethods(value, 'monotonic', 'wall', 'schedule', 'keepAlive');
}

/** The present moment on both clocks. */
export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonic(), wallMs: clock.wall() };
}
