/** A clock that stands still until a test moves it. */

import { setImmediate } from 'node:timers';
import type { Cancel, Clock } from '@incumbent/core';
import { Timers, type Timer } from './timers.ts';

/** Where a {@link ManualClock} starts. */
export interface ManualClockOptions {
  /** Where the monotonic clock starts, in ms. Default 0. */
  readonly monotonicMs?: number | undefined;
  /** Where the wall clock starts, in ms since the epoch. Default 2030-01-01, UTC. */
  readonly wallMs?: number | undefined;
}

/** The options of {@link ManualClock.run}. */
export interface RunOptions {
  /** The most time that may pass, in ms. Default 1 hour. */
  readonly withinMs?: number;
}

const DEFAULT_WALL_MS = 1_893_456_000_000;
const DEFAULT_RUN_MS = 3_600_000;
/** More timers than this at one instant mean that something schedules itself without a delay. */
const MAX_TIMERS_AT_ONE_INSTANT = 100_000;

/**
 * A {@link Clock} for tests. Timers run only inside {@link ManualClock.advance} and {@link
 * ManualClock.run}: in the order of their times, and at one time in the order in which they were
 * scheduled. Between two timers, every promise settles that can settle without time passing. The
 * clock does not wait for promises that need input or output of the machine.
 */
export class ManualClock implements Clock {
  readonly #timers = new Timers();
  #monotonicMs: number;
  /** The wall clock minus the monotonic clock. */
  #offsetMs: number;
  #holds = 0;
  #moving = false;
  #atThisInstant = 0;

  constructor(options: ManualClockOptions = {}) {
    this.#monotonicMs = options.monotonicMs ?? 0;
    this.#offsetMs = (options.wallMs ?? DEFAULT_WALL_MS) - this.#monotonicMs;
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  wall(): number {
    return this.#monotonicMs + this.#offsetMs;
  }

  /**
   * Calls `task` once, `delayMs` ms from now on the monotonic clock. The returned function cancels
   * it.
   *
   * @throws {RangeError} if `delayMs` is NaN.
   */
  schedule(delayMs: number, task: () => void): Cancel {
    if (Number.isNaN(delayMs)) throw new RangeError('a delay is a number of ms, not NaN');
    const timer = this.#timers.add(this.#monotonicMs + Math.max(delayMs, 0), task);
    return () => this.#timers.cancel(timer);
  }

  keepAlive(): Cancel {
    this.#holds += 1;
    let held = true;
    return () => {
      if (held) this.#holds -= 1;
      held = false;
    };
  }

  /** How many calls of `keepAlive` were not cancelled yet. */
  get holds(): number {
    return this.#holds;
  }

  /** How many timers are pending. */
  get timers(): number {
    return this.#timers.size;
  }

  /**
   * Moves only the wall clock, forwards or backwards, as when a clock is set, or when a machine is
   * suspended and its monotonic clock stands still.
   */
  advanceWall(ms: number): void {
    this.#offsetMs += ms;
  }

  /** Sets only the wall clock, in ms since the epoch. */
  setWall(wallMs: number): void {
    this.#offsetMs = wallMs - this.#monotonicMs;
  }

  /**
   * Lets `ms` pass on both clocks. 0 only lets promises settle.
   *
   * @throws `RangeError` if `ms` is below 0, `Error` while another `advance` or `run` is in
   * progress, and the error of a timer's task that throws.
   */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0)) throw new RangeError(`time goes on by 0 ms or more, not by ${ms}`);
    const untilMs = this.#monotonicMs + ms;
    await this.#exclusively(async () => {
      await settle();
      while (await this.#step(untilMs));
      this.#goTo(untilMs);
    });
  }

  /**
   * Lets time pass until `promise` settles, and settles in the same way. Rejects if the promise
   * does not settle within `withinMs`, if no timer is left that could settle it, and while another
   * `advance` or `run` is in progress.
   */
  async run<T>(promise: Promise<T>, options: RunOptions = {}): Promise<T> {
    const { withinMs = DEFAULT_RUN_MS } = options;
    const untilMs = this.#monotonicMs + withinMs;
    let settled = false;
    const done = (): void => {
      settled = true;
    };
    promise.then(done, done);
    await this.#exclusively(async () => {
      await settle();
      while (!settled && (await this.#step(untilMs)));
    });
    if (settled) return promise;
    const next = this.#timers.peek();
    throw new Error(
      next === undefined ? 'nothing is scheduled that could settle the promise' : `the promise has not settled in ${withinMs} ms`,
    );
  }

  async #exclusively(move: () => Promise<void>): Promise<void> {
    if (this.#moving) throw new Error('the clock is being moved already: await the advance or run before');
    this.#moving = true;
    try {
      await move();
    } finally {
      this.#moving = false;
    }
  }

  /**
   * Runs the next timer that is due by `untilMs`, and lets promises settle. False: there is none.
   */
  async #step(untilMs: number): Promise<boolean> {
    const next = this.#timers.peek();
    if (next === undefined || next.dueMs > untilMs) return false;
    this.#timers.take();
    this.#goTo(next.dueMs);
    this.#guard(next);
    next.task();
    await settle();
    return true;
  }

  #goTo(monotonicMs: number): void {
    if (monotonicMs > this.#monotonicMs) this.#atThisInstant = 0;
    this.#monotonicMs = Math.max(monotonicMs, this.#monotonicMs);
  }

  #guard(timer: Timer): void {
    this.#atThisInstant += 1;
    if (this.#atThisInstant <= MAX_TIMERS_AT_ONE_INSTANT) return;
    throw new Error(`${MAX_TIMERS_AT_ONE_INSTANT} timers have run at ${timer.dueMs} ms: something schedules itself without a delay`);
  }
}

/**
 * Resolves when every promise has settled that can settle without time passing: Node runs all
 * promise reactions before the next turn of its event loop.
 */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
