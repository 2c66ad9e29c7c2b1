/**
 * Ends a process group: SIGTERM, the grace, SIGKILL. Of several calls, the earliest SIGKILL counts.
 */

import type { ProcessGroup } from './process-group.ts';

/** The longest delay of a Node timer, about 24 days. Longer ones fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export class Stopper {
  readonly #group: ProcessGroup;
  #killAt = Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(group: ProcessGroup) {
    this.#group = group;
  }

  /** Sends SIGTERM now and SIGKILL after the grace; SIGKILL at once if the grace is 0. */
  terminate(graceMs: number): void {
    if (graceMs > 0) {
      this.#group.signal('SIGTERM');
      // A stopped process handles SIGTERM only after SIGCONT.
      this.#group.signal('SIGCONT');
    }
    this.killIn(graceMs);
  }

  /** Sends SIGKILL after `ms`, unless an earlier one is scheduled. */
  killIn(ms: number): void {
    const at = performance.now() + ms;
    if (at >= this.#killAt) return;
    this.#killAt = at;
    clearTimeout(this.#timer);
    if (ms <= 0) this.#group.kill();
    else this.#timer = setTimeout(() => this.#group.kill(), Math.min(ms, MAX_TIMER_MS));
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }
}
