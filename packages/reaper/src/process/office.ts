/**
 * The reaper: it waits for the death of one process, and does then what that can no longer do.
 *
 * **Order.** First the death is proven; then the process groups that lived by it are killed, until nothing of them is left; only then their owner's leases are
 * revoked. Until then nothing is, whatever has become of the pipe: a descriptor can be closed by mistake, and a process that is stopped still leads.
 *
 * **The deadline.** While the process lives, a group is killed when a lease of its owner may end at the store: the process should have seen to it long before, and is
 * paused, or late. The process itself is left alone, and nothing is revoked.
 */

import type { Clock } from '@incumbent/core';

import { isDead, isGroupGone, killGroup } from '../death.ts';
import type { LifeOf, Told } from '../messages.ts';
import type { System } from '../system.ts';
import { Ledger, type BoundGroup, type WatchedLease } from './ledger.ts';
import { pause } from './pause.ts';
import type { Revokers } from './revokers.ts';

export interface OfficeParts {
  readonly system: System;
  readonly revokers: Revokers;
  /** Whether the system takes another process for this one's parent by now. */
  readonly isOrphan: (parent: number) => boolean;
}

/** A death is also looked for without a word from the pipe, whose other end may have been left to another process: so often, in ms. */
const LOOK_EVERY_MS = 500;

/** For so long a pipe that has no end brings nothing, in ms. */
const QUIET_MS = 50;

/** Between the pipe's end and the death lie a few ms; where it is no death, it is waited for with patience. In ms, and for how long. */
const PATIENCE = [
  { everyMs: 1, untilMs: 250 },
  { everyMs: 10, untilMs: 2_000 },
  { everyMs: 100, untilMs: Infinity },
] as const;

/** A group that has been killed may take a moment; one that starts new processes all the while is killed again. */
const KILL_EVERY_MS = 2;

/** Where nothing tells when a lease is over, or there is none: how long groups are killed for, and calls made. */
const LAST_MS = 10_000;

export class Office {
  readonly #parts: OfficeParts;
  readonly #clock: Clock;
  readonly #ledger = new Ledger();
  readonly #over = new AbortController();
  /** Aborts when there is news: the next look may be due sooner. */
  #news = new AbortController();
  #parent: LifeOf | undefined;
  /** Nothing more will be heard. */
  #deaf = false;

  constructor(parts: OfficeParts) {
    this.#parts = parts;
    this.#clock = parts.system.clock;
  }

  take(message: Told): void {
    if (message.type === 'parent') this.#parent = message;
    if (message.type === 'store') this.#parts.revokers.prepare(message);
    if (message.type === 'end') this.#over.abort();
    this.#ledger.take(message);
    this.#wake();
  }

  /** The pipe's other end is closed. Nothing is proven by that. */
  hangUp(): void {
    this.#deaf = true;
    this.#wake();
  }

  /** Resolves when nothing is left to be done: never, as long as the parent lives and has the pipe. */
  async run(): Promise<void> {
    const patience = this.#patience();
    while (!this.#over.signal.aborted) {
      if (this.#parent !== undefined && (this.#deaf || this.#parts.isOrphan(this.#parent.pid))) {
        if (isDead(this.#parts.system, this.#parent)) {
          await this.#hearOut();
          return this.#reap();
        }
        if (this.#isPointless()) return;
        await pause(this.#clock, patience());
      } else {
        if (this.#deaf) return;
        this.#enforce();
        await this.#untilNews(Math.min(LOOK_EVERY_MS, this.#nextMs()));
      }
    }
  }

  /** What the dead has told may still be in the pipe. Where that has no end, as another process holds it, it is read when it brings nothing more. */
  async #hearOut(): Promise<void> {
    for (let isNews = true; isNews && !this.#deaf;) {
      const { signal } = this.#news;
      await pause(this.#clock, QUIET_MS, signal);
      isNews = signal.aborted;
    }
  }

  /** After the death: each owner's groups, then its leases. */
  async #reap(): Promise<void> {
    const { leases, groups } = this.#ledger;
    const owners = new Set([...leases.values(), ...groups.values()].map(({ owner }) => owner));
    await Promise.all([...owners].map((owner) => this.#reapOwner(owner)));
    await this.#parts.revokers.close();
  }

  async #reapOwner(owner: number): Promise<void> {
    const isOwn = (one: WatchedLease | BoundGroup): boolean => one.owner === owner;
    const leases = [...this.#ledger.leases.values()].filter(isOwn);
    const lastMs = this.#clock.monotonic() + LAST_MS;
    const groups = [...this.#ledger.groups.values()].filter(isOwn);
    const until = Math.max(lastMs, ...leases.map(({ times }) => times?.overBy ?? lastMs));
    const gone = await Promise.all(groups.map((group) => this.#end(group, until)));
    // What cannot be killed may still do what only a leader does: its lease ends in its own time.
    if (gone.includes(false)) return;
    await Promise.all(leases.map((lease) => this.#parts.revokers.revoke(lease, lease.times?.overBy ?? lastMs)));
  }

  /** Whether it is gone, and not merely given up. */
  async #end(group: BoundGroup, until: number): Promise<boolean> {
    const { system } = this.#parts;
    while (!isGroupGone(system, group)) {
      if (this.#clock.monotonic() >= until) return false;
      killGroup(system, group);
      await pause(this.#clock, KILL_EVERY_MS);
    }
    return true;
  }

  #enforce(): void {
    const { system } = this.#parts;
    for (const group of this.#ledger.overdue(this.#clock.monotonic(), this.#clock.wall())) killGroup(system, group);
  }

  /** What is overdue is killed again until it is gone, or the parent says so. */
  #nextMs(): number {
    const nextIn = this.#ledger.nextIn(this.#clock.monotonic()) ?? LOOK_EVERY_MS;
    if (nextIn > 0) return nextIn;
    const isLeft = [...this.#ledger.groups.values()].some((group) => !isGroupGone(this.#parts.system, group));
    return isLeft ? KILL_EVERY_MS : LOOK_EVERY_MS;
  }

  /** The parent lives, and cannot be heard any more: what it has done since is not known, and when all that was told has expired, nothing is left to do. */
  #isPointless(): boolean {
    return this.#deaf && this.#clock.monotonic() > this.#ledger.overBy && this.#ledger.groups.size === 0;
  }

  #patience(): () => number {
    let waitedMs = 0;
    return () => {
      const everyMs = PATIENCE.find(({ untilMs }) => waitedMs < untilMs)?.everyMs ?? LOOK_EVERY_MS;
      waitedMs += everyMs;
      return everyMs;
    };
  }

  async #untilNews(withinMs: number): Promise<void> {
    const { signal } = this.#news;
    await pause(this.#clock, withinMs, signal);
  }

  #wake(): void {
    this.#news.abort();
    this.#news = new AbortController();
  }
}
