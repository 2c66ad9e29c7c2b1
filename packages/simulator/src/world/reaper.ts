/** A process's reaper, as its members see it: ends their leases soon after the process has died, and never before. */

import type { LeaseId, Reaper, ReaperMemberHandle } from '@incumbent/core';
import type { SimProcess } from '../time/process.ts';
import type { SimServer } from '../store/server.ts';
import type { Stream } from '../time/random.ts';
import type { Scheduler } from '../time/scheduler.ts';

/** What a reaper has that its process has not: time and a way to the store of its own. */
export interface ReaperWorld {
  readonly scheduler: Scheduler;
  readonly server: SimServer;
  readonly random: Stream;
  /** How long it takes at most from the proof of the death to the end of the leases. */
  readonly lagMs: number;
}

/** A store that serves nobody is asked again after so long. */
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

  /** Nothing is heard of the process any more, as when the pipe between them is closed: it has died, or stands still. */
  suspect(): void {
    if (!this.#isDead()) return;
    const { scheduler, random, lagMs } = this.#world;
    for (const lease of this.#leases) scheduler.after(random.below(lagMs + 1), () => this.#revoke(lease));
  }

  /** Silence proves nothing: one that stands still goes on, and believes, by its own clocks, until its deadline. */
  #isDead(): boolean {
    return this.#process.state === 'dead';
  }

  #revoke(lease: LeaseId): void {
    const { scheduler, server } = this.#world;
    if (server.isDown) scheduler.after(RETRY_MS, () => this.#revoke(lease));
    else server.endLease(lease, { by: 'reaper', owner: this.#process.name });
  }
}
