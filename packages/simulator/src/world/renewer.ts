/**
 * The renewer of a process, as its members see it: a worker thread that renews their leases while
 * the event loop is blocked, by a connection of its own. It stops together with the process, and it
 * may also die or stand still alone.
 */

import { isIncumbentError, type LeaseId, type Moment, type RenewedMember, type Renewal, type Renewer } from '@incumbent/core';
import type { SimServer } from '../store/server.ts';
import type { SimProcess } from '../time/process.ts';
import type { Stream } from '../time/random.ts';
import type { Scheduler } from '../time/scheduler.ts';

/** What a renewer has apart from its process. */
export interface RenewerWorld {
  readonly scheduler: Scheduler;
  readonly server: SimServer;
  readonly random: Stream;
}

/** How often per ttl the worker looks whether a renewal is due. */
const CHECKS_PER_TTL = 20;
/** The event loop counts as blocked after so many checks without a beat. */
const MISSED_BEATS = 3;
/** While the event loop is blocked, the worker fails at one check in so many. */
const FAILS_ONE_IN = 100;
/** One request or answer in so many is lost. */
const LOST_ONE_IN = 16;
/** The pause before a worker that stands still looks at an answer again, in ms. */
const STILL_MS = 10;

interface Tracked {
  readonly id: LeaseId;
  readonly renewEveryMs: number;
  beatMs: number;
  /** When the newest acknowledged renewal was sent. */
  newestMs: number;
  latest: Renewal | undefined;
  isRenewing: boolean;
  retryAtMs: number;
}

export class SimRenewer implements Renewer {
  readonly #process: SimProcess;
  readonly #world: RenewerWorld;

  constructor(process: SimProcess, world: RenewerWorld) {
    this.#process = process;
    this.#world = world;
  }

  join(member: RenewedMember): ReturnType<Renewer['join']> {
    const worker = new SimWorker(this.#process, this.#world, member);
    return {
      renew: (id, granted) => {
        const lease = worker.add(id, granted);
        return {
          beat: () => {
            lease.beatMs = this.#process.monotonic();
          },
          renewed: ({ validFrom }) => {
            lease.newestMs = Math.max(lease.newestMs, validFrom.monotonicMs);
          },
          latest: () => lease.latest,
          ended: () => worker.remove(lease),
        };
      },
      close: async () => worker.close(),
    };
  }
}

/** The worker thread for one member. */
class SimWorker {
  readonly #process: SimProcess;
  readonly #world: RenewerWorld;
  readonly #member: RenewedMember;
  readonly #leases = new Set<Tracked>();
  #isClosed = false;
  #isChecking = false;
  /** Until this moment of world time it stands still. */
  #stillUntilMs = 0;
  /** It has died. The process starts another one when its event loop runs. */
  #isDead = false;

  constructor(process: SimProcess, world: RenewerWorld, member: RenewedMember) {
    this.#process = process;
    this.#world = world;
    this.#member = member;
  }

  add(id: LeaseId, { ttlMs, validFrom }: Renewal): Tracked {
    const { timing } = this.#member;
    const lease: Tracked = {
      id,
      renewEveryMs: timing.renewEveryMs * Math.min(1, ttlMs / timing.ttlMs),
      beatMs: this.#process.monotonic(),
      newestMs: validFrom.monotonicMs,
      latest: undefined,
      isRenewing: false,
      retryAtMs: -Infinity,
    };
    this.#leases.add(lease);
    if (!this.#isChecking) this.#checkLater();
    return lease;
  }

  remove(lease: Tracked): void {
    this.#leases.delete(lease);
  }

  close(): void {
    this.#isClosed = true;
    this.#leases.clear();
  }

  get #checkEveryMs(): number {
    return this.#member.timing.ttlMs / CHECKS_PER_TTL;
  }

  /** Whether the code of the worker runs now. */
  get #runs(): boolean {
    const { state } = this.#process;
    return (state === 'running' || state === 'blocked') && !this.#isDead && this.#world.scheduler.nowMs >= this.#stillUntilMs;
  }

  get #isOver(): boolean {
    return this.#isClosed || this.#process.state === 'dead' || this.#leases.size === 0;
  }

  #checkLater(): void {
    this.#isChecking = true;
    this.#world.scheduler.after(this.#checkEveryMs, () => this.#check());
  }

  #check(): void {
    this.#isChecking = false;
    if (this.#isOver) return;
    if (this.#process.state === 'blocked') this.#mayFail();
    else if (this.#process.state === 'running') this.#isDead = false;
    if (this.#runs) for (const lease of this.#leases) if (!lease.isRenewing && this.#isDue(lease)) this.#renew(lease);
    this.#checkLater();
  }

  /** The worker dies, or stands still for up to two ttls. */
  #mayFail(): void {
    const { random, scheduler } = this.#world;
    if (!random.chance(1 / FAILS_ONE_IN)) return;
    if (random.chance(0.5)) this.#isDead = true;
    else this.#stillUntilMs = scheduler.nowMs + random.below(2 * this.#member.timing.ttlMs);
  }

  #isDue({ beatMs, newestMs, renewEveryMs, retryAtMs }: Tracked): boolean {
    const nowMs = this.#process.monotonic();
    const blockedMs = nowMs - beatMs;
    if (blockedMs < MISSED_BEATS * this.#checkEveryMs || blockedMs > this.#member.maxBlockedMs) return false;
    return nowMs - newestMs >= renewEveryMs && nowMs >= retryAtMs;
  }

  #renew(lease: Tracked): void {
    const { scheduler, server } = this.#world;
    const at: Moment = { monotonicMs: this.#process.monotonic(), wallMs: this.#process.wall() };
    lease.isRenewing = true;
    scheduler.after(this.#latencyMs(), () => {
      if (server.isDown || this.#isLost()) return this.#fail(lease);
      try {
        const { ttlMs } = server.leases.renew(lease.id);
        if (this.#isLost()) return this.#fail(lease);
        scheduler.after(this.#latencyMs(), () => this.#arrived(lease, { ttlMs, validFrom: at }));
      } catch (error) {
        if (!isIncumbentError(error, 'LEASE_EXPIRED')) throw error;
        this.#leases.delete(lease);
      }
      return undefined;
    });
  }

  /** The answer waits while the worker stands still. It is lost with the worker. */
  #arrived(lease: Tracked, renewal: Renewal): void {
    if (this.#isOver) return;
    if (this.#isDead) lease.isRenewing = false;
    else if (!this.#runs) this.#world.scheduler.after(STILL_MS, () => this.#arrived(lease, renewal));
    else {
      lease.isRenewing = false;
      lease.latest = renewal;
      lease.newestMs = Math.max(lease.newestMs, renewal.validFrom.monotonicMs);
    }
  }

  /** The call fails when its time is over. */
  #fail(lease: Tracked): void {
    const { callTimeoutMs, retryEveryMs } = this.#member.timing;
    this.#world.scheduler.after(callTimeoutMs, () => {
      lease.isRenewing = false;
      lease.retryAtMs = this.#process.monotonic() + retryEveryMs;
    });
  }

  #isLost(): boolean {
    return this.#world.random.chance(1 / LOST_ONE_IN);
  }

  #latencyMs(): number {
    const { minMs, maxMs } = this.#world.server.shape.latency;
    return this.#world.random.between(minMs, maxMs);
  }
}
