/** One process of the world: its clocks, its timers, and whether anything of it runs. */

import type { Cancel, Clock } from '@incumbent/core';
import { invalidOption } from '@incumbent/core/adapter';
import type { Stream } from './random.ts';
import type { Entry, Scheduler } from './scheduler.ts';

/**
 * - `paused`: nothing of it runs, its clocks go on (SIGSTOP).
 * - `blocked`: its event loop stands still, so no timer, answer or promise; code that is running reads the clocks.
 * - `suspended`: nothing runs, the monotonic clock stands still, the wall clock goes on (a laptop's lid).
 * - `dead`: nothing of it will ever run again. What it has sent may still arrive.
 */
export type RunState = 'running' | 'paused' | 'blocked' | 'suspended' | 'dead';

export interface ProcessOptions {
  /** How fast its clocks go: 1.01 gains a hundredth. */
  readonly rate: number;
  readonly random: Stream;
}

/** Where every wall clock begins, in ms since the epoch: 2030-01-01, UTC. */
const WALL_MS = 1_893_456_000_000;
/** As Node has it. */
const MIN_DELAY_MS = 1;
/** One timer in so many fires late, by so many ms at most, as on a busy machine. */
const LATE_ONE_IN = 8;
const LATE_MS = 12;

interface Timer {
  readonly dueMs: number;
  entry: Entry | undefined;
  task: (() => void) | undefined;
}

/** A process, by its own clocks. Two processes of one id are two incarnations. */
export class SimProcess implements Clock {
  readonly id: string;
  /** Its own alone: the id, and which start of it this is. */
  readonly name: string;
  readonly #scheduler: Scheduler;
  readonly #rate: number;
  readonly #random: Stream;
  /** The clocks now are what they were then, and the world time since, at their rate. */
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

  /** Whether code of it may run now. */
  get runs(): boolean {
    return this.#state === 'running';
  }

  /** How long it has stood still in all, by its monotonic clock. */
  get stoodMs(): number {
    return this.#stoodMs;
  }

  /** Timers that are pending, and holds that keep it alive. */
  get pending(): { readonly timers: number; readonly holds: number } {
    return { timers: this.#timers, holds: this.#holds };
  }

  monotonic(): number {
    return this.#state === 'suspended' ? this.#monotonicMs : this.#monotonicMs + this.#elapsedMs();
  }

  wall(): number {
    return this.#wallMs + this.#elapsedMs();
  }

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

  /** Runs something of this process: now, when it runs again, or never. */
  run(task: () => void): void {
    if (this.#state === 'running') task();
    else if (this.#state !== 'dead') this.#parked.push(task);
  }

  /** Sets the wall clock forth, or back by a negative number of ms. */
  jumpWall(byMs: number): void {
    this.#wallMs += byMs;
  }

  /** Stops it, unless it is stopped. Returns what ends this stop and no other; that does nothing once it is dead. */
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

  /** Ends it, and all that was to run of it. */
  kill(): void {
    this.#state = 'dead';
    this.#stops += 1;
    this.#parked = [];
  }

  /** What has come meanwhile is there at once, in any order. */
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

  /** As {@link SimProcess.run} does. Most of what happens in a world are timers of processes that run: nothing is made for those. */
  #due(timer: Timer): void {
    if (this.#state === 'running') this.#fire(timer);
    else if (this.#state !== 'dead') this.#parked.push(() => this.#fire(timer));
  }

  /** A clock that stood still meanwhile may not have come so far yet. */
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
