/**
 * The reaper of a process, as its members see it. It ends their leases soon after the process has
 * died, and never before.
 */

import type { LeaseId, Reaper, ReaperMemberHandle } from '@incumbent/core';
import type { SimProcess } from '../time/process.ts';
import type { SimServer } from '../store/server.ts';
import type { Stream } from '../time/random.ts';
import type { Scheduler } from '../time/scheduler.ts';

/** What a reaper has apart from its process: its own time and its own connection to the store. */
export interface ReaperWorld {
  readonly scheduler: Scheduler;
  readonly server: SimServer;
  readonly random: Stream;
  /** The longest time from the proof of the death to the end of the leases, in ms. */
  readonly lagMs: number;
}

/** The pause before it tries a store that serves no requests again, in ms. */
const RETRY_MS = 50;

export class SimReaper implements Reaper {
  readonly #process: SimProcess;
  readonly #world: ReaperWorld;
  readonly #leases = new Set<LeaseId>();

  constructor(process: SimProcess, world: ReaperWorld) {
    this.#process = process;
    this.#world = world;
  }

  join(): ReaperMemberHandle {
    return {
      watch: (lease) => {
        this.#leases.add(lease);
        return { renewed: () => {}, ended: () => {}, forget: () => void this.#leases.delete(lease) };
      },
      close: async () => {},
    };
  }

  /**
   * The reaper no longer receives anything from the process, as when the pipe between them closes.
   * The process has died or is stopped.
   */
  suspect(): void {
    if (!this.#isDead()) return;
    const { scheduler, random, lagMs } = this.#world;
    for (const lease of this.#leases) scheduler.after(random.below(lagMs + 1), () => this.#revoke(lease));
  }

  /**
   * Silence proves nothing: a stopped process continues, and is valid by its own clocks until its
   * deadline.
   */
  #isDead(): boolean {
    return this.#process.state === 'dead';
  }

  #revoke(lease: LeaseId): void {
    const { scheduler, server } = this.#world;
    if (server.isDown) scheduler.after(RETRY_MS, () => this.#revoke(lease));
    else server.endLease(lease, { by: 'reaper', owner: this.#process.name });
  }
}
