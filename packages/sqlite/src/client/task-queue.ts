/**
 * The queue in which the calls of this process reach the file. Each task is a synchronous
 * transaction, so a task blocks the event loop while it runs.
 */

import type { Cancel } from '@incumbent/core';

/** After running tasks for this long, let timers run, such as the timer of a lease renewal. */
const SLICE_MS = 5;
/** A task that takes longer has waited for the disk. */
const SLOW_MS = 5;

/**
 * Runs tasks in the order in which they were added. Timers wait for the queue for at most
 * `SLICE_MS` plus one task.
 */
export class TaskQueue {
  readonly #tasks = new Set<() => void>();
  #isScheduled = false;
  #isPaused = false;

  /**
   * Adds a task, which never runs before this call has returned. An urgent task runs before all
   * tasks that wait. Cancelling does nothing after the task has run.
   */
  add(task: () => void, urgent: boolean): Cancel {
    if (urgent) {
      const immediate = setImmediate(() => this.#run(task));
      return () => clearImmediate(immediate);
    }
    // A new function, so that a task that is added twice has two places.
    const entry = (): void => task();
    this.#tasks.add(entry);
    this.#schedule();
    return () => {
      this.#tasks.delete(entry);
    };
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isPaused || this.#tasks.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#runUntil(performance.now() + SLICE_MS);
      this.#schedule();
    });
  }

  #runUntil(end: number): void {
    for (const task of this.#tasks) {
      this.#tasks.delete(task);
      this.#run(task);
      if (this.#isPaused || performance.now() >= end) return;
    }
  }

  #run(task: () => void): void {
    const began = performance.now();
    task();
    const tookMs = performance.now() - began;
    if (tookMs > SLOW_MS) this.#pause(tookMs);
  }

  /**
   * Leaves the file to other processes for as long as this process has just used it. Without the
   * pause, other processes would never find the file unlocked on a slow disk. The timer does not
   * keep the process alive, but the timeout of every waiting call does.
   */
  #pause(ms: number): void {
    this.#isPaused = true;
    setTimeout(() => {
      this.#isPaused = false;
      this.#schedule();
    }, ms).unref();
  }
}
