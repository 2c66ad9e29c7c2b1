/**
 * The clocks of a process. Core waits and measures only through a {@link Clock}, so that a
 * simulation can replay a run from a seed. Only this file reads the system's clocks.
 */

/** Cancels a timer, or ends a `keepAlive`. A second call has no effect. */
export type Cancel = () => void;

/**
 * One instant, on both clocks of one process, in milliseconds. Never compared between processes.
 */
export interface Moment {
  /** Never goes back; stands still, on some systems, while the machine is suspended. */
  readonly monotonicMs: number;
  /** May be set back or forth; goes on while the machine is suspended. */
  readonly wallMs: number;
}

export interface Clock {
  /** Milliseconds since some fixed moment of this process; never goes back. */
  monotonic(): number;
  /** Milliseconds since the epoch, by the machine's own clock. */
  wall(): number;
  /** Runs `task` once, no earlier than `delayMs` from now. Does not keep the process alive. */
  schedule(delayMs: number, task: () => void): Cancel;
  /** Keeps the process alive until cancelled. */
  keepAlive(): Cancel;
}

/** The longest delay that a timer of Node keeps: beyond it, it fires at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

class SystemClock implements Clock {
  #holds = 0;
  /** Keeps the process alive while there are holds. */
  #holding: NodeJS.Timeout | undefined;

  monotonic(): number {
    return performance.now();
  }

  wall(): number {
    return Date.now();
  }

  schedule(delayMs: number, task: () => void): Cancel {
    // A moment that has just passed is no mistake, though Node warns of it.
    const timer = setTimeout(task, Math.min(Math.max(delayMs, 1), MAX_DELAY_MS));
    timer.unref();
    return () => clearTimeout(timer);
  }

  keepAlive(): Cancel {
    this.#holds += 1;
    this.#holding ??= setInterval(() => {}, MAX_DELAY_MS);
    let isHeld = true;
    return () => {
      if (isHeld) this.#letGo();
      isHeld = false;
    };
  }

  #letGo(): void {
    this.#holds -= 1;
    if (this.#holds > 0) return;
    clearInterval(this.#holding);
    this.#holding = undefined;
  }
}

/** The clocks and timers of this process. */
export const systemClock: Clock = new SystemClock();

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonic(), wallMs: clock.wall() };
}
