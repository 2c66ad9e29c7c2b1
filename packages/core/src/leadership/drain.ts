/** The time between the abort and the release, for the work to stop. */

import type { Clock } from '../base/clock.ts';
import { sleep } from '../async/sleep.ts';

/** A process that slept through its lease has no time left; its work still gets to notice, before it is called stuck. */
const LEAST_MS = 20;

export class Drain {
  readonly #clock: Clock;
  /** Made when there is some. */
  #works: Set<Promise<unknown>> | undefined;
  #leadWork: Promise<unknown> | undefined;
  /** The work has said that it has stopped, or there is some to wait for. */
  #isAccountedFor = false;
  #mayHaveUntracked = false;
  #changed: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits for this work, too; however it settles. */
  add(work: Promise<unknown>): Promise<unknown> {
    const settled = work.then(
      () => {},
      () => {},
    );
    this.#works ??= new Set();
    this.#works.add(settled);
    void settled.then(() => this.#remove(settled));
    return settled;
  }

  /** The work of `lead`: waited for like any other, unless it gives its word. There is no other that nobody told of. */
  trackLeadWork(work: Promise<unknown>): void {
    this.#isAccountedFor = true;
    this.#leadWork = this.add(work);
  }

  /** The end is at the wish of somebody who knows of no work: there may be some that nobody told of. */
  expectUntrackedWork(): void {
    this.#mayHaveUntracked = true;
  }

  /** The work says itself that it has stopped: work that waited for its own end to be waited for would wait for ever. */
  workStopped(): void {
    this.#isAccountedFor = true;
    this.#remove(this.#leadWork);
  }

  /**
   * Resolves when all work has stopped, or at `until` on the monotonic clock: true if it had stopped. Where nobody told of any that still runs, a
   * leadership that its holder gave up has none, and any other may have some.
   */
  async wait(until: number, lost: boolean): Promise<boolean> {
    this.#isAccountedFor ||= !(lost || this.#mayHaveUntracked) || !this.#isEmpty;
    if (this.#isOver()) return true;
    const over = new AbortController();
    this.#changed = () => {
      if (this.#isOver()) over.abort();
    };
    const leftMs = until - this.#clock.monotonic();
    await sleep(this.#clock, Math.max(leftMs, LEAST_MS), over.signal);
    return this.#isEmpty;
  }

  /** Resolves when none of the work there is now runs any more. */
  async rest(): Promise<void> {
    if (this.#works !== undefined) await Promise.all(this.#works);
  }

  get #isEmpty(): boolean {
    return this.#works === undefined || this.#works.size === 0;
  }

  #isOver(): boolean {
    return this.#isAccountedFor && this.#isEmpty;
  }

  #remove(work: Promise<unknown> | undefined): void {
    if (work !== undefined) this.#works?.delete(work);
    this.#changed?.();
  }
}
