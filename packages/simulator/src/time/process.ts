/** One process of the world: its clocks, its timers, and whether its code runs. */

import type { Cancel, Clock } from '@incumbent/core';
import { invalidOption } from '@incumbent/core/adapter';
import type { Stream } from './random.ts';
import type { Entry, Scheduler } from './scheduler.ts';

/**
 * - `paused`: no code runs, and the clocks continue (SIGSTOP).
 * - `blocked`: the event loop stands still, so timers, answers and promises wait. Running code can
 *   read the clocks.
 * - `suspended`: no code runs, the monotonic clock stands still, and the wall clock continues (a
 *   laptop with its lid closed).
 * - `dead`: no code will ever run again. Messages that it sent may still arrive.
 */
export type RunState = 'running' | 'paused' | 'blocked' | 'suspended' | 'dead';

/** The clocks of a simulated process. */
export interface ProcessOptions {
  /** The rate of its clocks. A clock with rate 1.01 gains a hundredth. */
  readonly rate: number;
  readonly random: Stream;
}

/** The start of every wall clock: 2030-01-01 UTC, in ms since the epoch. */
const WALL_MS = 1_893_456_000_000;
/** The shortest delay of a timer, as in Node, in ms. */
const MIN_DELAY_MS = 1;
/** One timer in this many fires late, by less than `LATE_MS`, as on a busy machine. */
const LATE_ONE_IN = 8;
const LATE_MS = 12;

interface Timer {
  readonly dueMs: number;
  entry: Entry | undefined;
  task: (() => void) | undefined;
}

/** A process with its own clocks. Two processes with the same id are two incarnations. */
export class SimProcess implements Clock {
  readonly id: string;
  /** A unique name: the id and the number of the start. */
  readonly name: string;
  readonly #scheduler: Scheduler;
  readonly #rate: number;
  readonly #random: Stream;
  /**
   * The world time at which the clocks were last read. Since then they have advanced at their rate.
   */
  #since = 0;
  #monotonicMs: number;
  #wallMs: number;
  #state: RunState = 'running';
  #stops = 0;
  #stoodMs = 0;
  #parked: (() => void)[] = [];
  #timers = 0;
  #holds = 0;

  constructor(id: string, starts: number, scheduler: Scheduler, { rate, random }: ProcessOptions) {
    this.id = id;
    this.name = `${id}#${starts}`;
    this.#scheduler = scheduler;
    this.#rate = rate;
    this.#random = random;
    this.#since = scheduler.nowMs;
    this.#monotonicMs = random.below(100_000);
    this.#wallMs = WALL_MS + scheduler.nowMs + random.between(-500, 500);
  }

  get state(): RunState {
    return this.#state;
  }

  /** Whether its code may run now. */
  get runs(): boolean {
    return this.#state === 'running';
  }

  /** How long the process has been stopped in all, by its monotonic clock, in ms. */
  get stoodMs(): number {
    return this.#stoodMs;
  }

  /** How many timers are pending, and how many calls of `keepAlive` are active. */
  get pending(): { readonly timers: number; readonly holds: number } {
    return { timers: this.#timers, holds: this.#holds };
  }

  monotonic(): number {
    return this.#state === 'suspended' ? this.#monotonicMs : this.#monotonicMs + this.#elapsedMs();
  }

  wall(): number {
    return this.#wallMs + this.#elapsedMs();
  }

  /**
   * Calls `task` once, `delayMs` ms from now on the monotonic clock. The returned function cancels
   * it.
   *
   * @throws {RangeError} `INVALID_OPTION` if `delayMs` is NaN.
   */
  schedule(delayMs: number, task: () => void): Cancel {
    if (Number.isNaN(delayMs)) throw invalidOption('delayMs', delayMs, 'a number of ms');
    const timer: Timer = { dueMs: this.monotonic() + Math.max(delayMs, MIN_DELAY_MS), entry: undefined, task };
    this.#timers += 1;
    this.#arm(timer, this.#random.below(LATE_ONE_IN) === 0 ? this.#random.below(LATE_MS) : 0);
    return () => this.#disarm(timer);
  }

  keepAlive(): Cancel {
    this.#holds += 1;
    let held = true;
    return () => {
      if (held) this.#holds -= 1;
      held = false;
    };
  }

  /**
   * Runs a task in this process: now, or when the process runs again. Never if the process is dead.
   */
  run(task: () => void): void {
    if (this.#state === 'running') task();
    else if (this.#state !== 'dead') this.#parked.push(task);
  }

  /** Sets the wall clock forward, or back by a negative number of ms. */
  jumpWall(byMs: number): void {
    this.#wallMs += byMs;
  }

  /**
   * Stops the process, unless it is stopped. The returned function ends this stop only, and does
   * nothing once the process is dead.
   */
  stop(state: 'paused' | 'blocked' | 'suspended'): Cancel {
    if (this.#state !== 'running') return () => {};
    this.#anchor();
    this.#state = state;
    this.#stops += 1;
    const stop = this.#stops;
    return () => {
      if (stop === this.#stops && this.#state !== 'dead') this.#resume();
    };
  }

  /** Ends the process and discards its pending tasks. */
  kill(): void {
    this.#state = 'dead';
    this.#stops += 1;
    this.#parked = [];
  }

  /** Runs everything that arrived meanwhile at once, in random order. */
  #resume(): void {
    if (this.#state !== 'suspended') this.#stoodMs += this.#elapsedMs();
    this.#anchor();
    this.#state = 'running';
    const parked = this.#parked;
    this.#parked = [];
    for (const task of parked) this.#scheduler.after(this.#random.below(3), () => this.run(task));
  }

  #elapsedMs(): number {
    return (this.#scheduler.nowMs - this.#since) * this.#rate;
  }

  #anchor(): void {
    const [monotonicMs, wallMs] = [this.monotonic(), this.wall()];
    this.#monotonicMs = monotonicMs;
    this.#wallMs = wallMs;
    this.#since = this.#scheduler.nowMs;
  }

  #arm(timer: Timer, lateMs: number): void {
    const inMs = (timer.dueMs - this.monotonic()) / this.#rate;
    timer.entry = this.#scheduler.after(Math.max(inMs, 0) + lateMs, () => this.#due(timer));
  }

  /**
   * Does the same as {@link SimProcess.run}, without allocating anything for the most common case:
   * a timer of a running process.
   */
  #due(timer: Timer): void {
    if (this.#state === 'running') this.#fire(timer);
    else if (this.#state !== 'dead') this.#parked.push(() => this.#fire(timer));
  }

  /**
   * Runs the timer's task, unless the clock stood still meanwhile and has not reached the time yet.
   */
  #fire(timer: Timer): void {
    const { task } = timer;
    if (task === undefined) return;
    if (this.monotonic() < timer.dueMs) return this.#arm(timer, 1);
    timer.task = undefined;
    this.#timers -= 1;
    task();
  }

  #disarm(timer: Timer): void {
    if (timer.task === undefined) return;
    timer.task = undefined;
    this.#timers -= 1;
    if (timer.entry !== undefined) timer.entry.task = undefined;
  }
}
