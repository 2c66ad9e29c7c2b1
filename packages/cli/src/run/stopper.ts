/** Ends a process group: SIGTERM, a grace, SIGKILL. The earliest end that anybody asked for holds. */

import type { ProcessGroup } from './process-group.ts';

/** Node's timers run at once beyond that: some 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

export class Stopper {
  readonly #group: ProcessGroup;
  #killAt = Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(group: ProcessGroup) {
    this.#group = group;
  }

  /** SIGTERM now, and SIGKILL when the grace is over; SIGKILL at once where there is none. */
  terminate(graceMs: number): void {
    if (graceMs > 0) {
      this.#group.signal('SIGTERM');
      // One that was stopped could not hear it.
      this.#group.signal('SIGCONT');
    }
    this.killIn(graceMs);
  }

  /** SIGKILL after so many ms, unless it was to come sooner. */
  killIn(ms: number): void {
    const at = performance.now() + ms;
    if (at >= this.#killAt) return;
    this.#killAt = at;
    clearTimeout(this.#timer);
    if (ms <= 0) this.#group.kill();
    else this.#timer = setTimeout(() => this.#group.kill(), Math.min(ms, LONGEST_MS));
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }
}
