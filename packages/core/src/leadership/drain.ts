/** Waits for the work to stop, between the abort of a leadership and its release. */

import type { Clock } from '../base/clock.ts';
import { hasMethods, invalidOption } from '../base/validate.ts';
import { sleep } from '../async/sleep.ts';

/**
 * The shortest drain. A process that was suspended until after the end of its lease has no time
 * left, but its work must get the chance to see the abort.
 */
const LEAST_MS = 20;

/** The drain of one leadership. */
export class Drain {
  readonly #clock: Clock;
  /** Created with the first work. */
  #works: Set<Promise<unknown>> | undefined;
  /** What the release waits for besides the work. Created with the first one. */
  #others: Set<Promise<unknown>> | undefined;
  #leadWork: Promise<unknown> | undefined;
  /** True if all work is known: it was passed to `add`, or its owner has called `workStopped`. */
  #isAccountedFor = false;
  #mayHaveUntracked = false;
  #changed: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits for this work as well, whether it resolves or rejects. */
  add(work: Promise<unknown>): Promise<unknown> {
    this.#works ??= new Set();
    return this.#waitFor(work, this.#works);
  }

  /** Waits for something that is no work. It does not count as work that is known. */
  delay(until: Promise<unknown>): void {
    this.#others ??= new Set();
    void this.#waitFor(until, this.#others);
  }

  /**
   * Waits for the work of `lead`, unless {@link workStopped} is called. There is no other,
   * untracked work.
   */
  trackLeadWork(work: Promise<unknown>): void {
    this.#isAccountedFor = true;
    this.#leadWork = this.add(work);
  }

  /**
   * Called if an operator or a rebalance ends the leadership: work that was not passed to `add` may
   * run.
   */
  expectUntrackedWork(): void {
    this.#mayHaveUntracked = true;
  }

  /**
   * Called when the work itself reports that it has stopped. The drain then no longer awaits the
   * work of `lead`, which may be waiting for the end of the leadership.
   */
  workStopped(): void {
    this.#isAccountedFor = true;
    if (this.#leadWork !== undefined) this.#works?.delete(this.#leadWork);
    this.#changed?.();
  }

  /**
   * Resolves when all work and everything passed to `delay` has settled, but no later than `until`
   * on the monotonic clock, or after `LEAST_MS` if that is later. False if work that was passed in
   * still runs. If no work was passed in, a leadership that its holder gave up (`lost` is false)
   * has no work. Every other leadership may have untracked work, so the wait lasts until `until`.
   */
  async wait(until: number, lost: boolean): Promise<boolean> {
    // A holder that gave up has no other work. Nor has one that passed work in.
    const gaveUp = !lost && !this.#mayHaveUntracked;
    if (gaveUp || !this.#isEmpty) this.#isAccountedFor = true;
    if (this.#isOver()) return true;
    const over = new AbortController();
    this.#changed = () => {
      if (this.#isOver()) over.abort();
    };
    const leftMs = until - this.#clock.monotonic();
    await sleep(this.#clock, Math.max(leftMs, LEAST_MS), over.signal);
    return this.#isEmpty;
  }

  /** Resolves when all work that runs now has settled. */
  async settled(): Promise<void> {
    if (this.#works !== undefined) await Promise.all(this.#works);
  }

  /**
   * Resolves when all work of a term of `lead` has settled: its own, and what was passed to `add`.
   * Whoever leads by `campaign` decides when to campaign again, so this then resolves at once.
   */
  async leadSettled(): Promise<void> {
    if (this.#leadWork !== undefined) await this.settled();
  }

  /** Whether work of a term of `lead` still runs. */
  get hasLeadWork(): boolean {
    return this.#leadWork !== undefined && !this.#isEmpty;
  }

  get #isEmpty(): boolean {
    return this.#works === undefined || this.#works.size === 0;
  }

  #isOver(): boolean {
    return this.#isAccountedFor && this.#isEmpty && (this.#others === undefined || this.#others.size === 0);
  }

  #waitFor(task: Promise<unknown>, tasks: Set<Promise<unknown>>): Promise<unknown> {
    if (!hasMethods(task, 'then')) throw invalidOption('work', task, 'a promise');
    // The `then` of another thenable may return nothing.
    const settled = Promise.resolve(task).then(
      () => {},
      () => {},
    );
    tasks.add(settled);
    void settled.then(() => {
      tasks.delete(settled);
      this.#changed?.();
    });
    return settled;
  }
}
