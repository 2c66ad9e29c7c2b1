/** The time between the abort and the release, for the work to stop. */

import type { Clock } from './clock.ts';
import { sleep } from './waits.ts';

export class Drain {
  readonly #clock: Clock;
  readonly #works = new Set<Promise<unknown>>();
  readonly #stopped = new AbortController();
  #ownWork: Promise<unknown> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits for this work, too; however it settles. */
  add(work: Promise<unknown>): Promise<unknown> {
    const settled = work.then(
      () => {},
      () => {},
    );
    this.#works.add(settled);
    void settled.then(() => this.#works.delete(settled));
    return settled;
  }

  /** The work of `lead`: waited for like any other, unless it gives its word. */
  addOwn(work: Promise<unknown>): void {
    this.#ownWork = this.add(work);
  }

  /** The work says itself that it has stopped: work that waited for its own end to be waited for would wait for ever. */
  takeWord(): void {
    this.#stopped.abort();
    if (this.#ownWork !== undefined) this.#works.delete(this.#ownWork);
  }

  /**
   * Resolves when all work has stopped, or at `until` on the monotonic clock: true if it had stopped. Where nobody told of any work, a leadership
   * that was given up has none, and one that was lost may have some.
   */
  async wait(until: number, lost: boolean): Promise<boolean> {
    const over = new AbortController();
    if (this.#works.size > 0) void Promise.all(this.#works).then(() => over.abort());
    else if (!lost || this.#stopped.signal.aborted) return true;
    else this.#stopped.signal.addEventListener('abort', () => over.abort(), { once: true });
    const leftMs = until - this.#clock.monotonic();
    if (leftMs > 0) await sleep(this.#clock, leftMs, over.signal);
    return this.#works.size === 0;
  }
}
