/**
 * The work of the reaper process: it waits for the death of its parent, then kills the parent's
 * process groups and revokes the parent's leases.
 *
 * **Order.** The death is proven first. Then the groups are killed, until none of their processes
 * is left. Only then are their owner's leases revoked. A closed pipe proves no death, because a
 * descriptor can be closed by mistake; a stopped process is not dead either, because it still
 * leads.
 *
 * **Deadline.** While the parent lives, the reaper kills a group as soon as a lease that the group
 * depends on may expire at the store. The parent should have stopped the group long before, so the
 * parent is paused or late. The reaper leaves the parent alone, and revokes nothing.
 *
 * A closed pipe does not change this. A parent that still renews kills a reaper whose pipe is
 * closed or broken, at the next renewal at the latest, and starts another one. If the reaper still
 * runs at the deadline, the thread that led was terminated, or the parent has called `execve`.
 */

import type { Clock } from '@incumbent/core';

import { isDead, isGroupGone, killGroup } from '../death.ts';
import type { ParentMessage, ProcessId } from '../messages.ts';
import type { System } from '../system.ts';
import { pause } from './pause.ts';
import { ReaperState, type BoundGroup, type WatchedLease } from './reaper-state.ts';
import type { Revokers } from './revokers.ts';

export interface ReaperLoopOptions {
  readonly system: System;
  readonly revokers: Revokers;
  /** Whether the kernel has given this process another parent than `parent`. */
  readonly isOrphan: (parent: number) => boolean;
}

/**
 * How often the parent is checked while the pipe is open, in ms. Another process may hold the
 * parent's end of the pipe, so the pipe may stay open after the death.
 */
const CHECK_EVERY_MS = 500;

/**
 * The pipe counts as read to its end when no message has come for so long after the death, in ms.
 */
const QUIET_MS = 50;

/**
 * A killed process is gone a few ms after its pipe, and within this time even on a busy machine, in
 * ms. If it is not, the pipe was closed by mistake.
 */
const EXIT_MS = 2_000;

/**
 * How often the death is checked after the pipe was closed, by the time since then. Later, every
 * {@link CHECK_EVERY_MS}.
 */
const CHECK_INTERVALS = [
  { everyMs: 1, untilMs: 250 },
  { everyMs: 10, untilMs: EXIT_MS },
] as const;

/**
 * After how long a group is killed again for the first time, in ms. Its processes may have started
 * others meanwhile. Each next wait is twice as long, up to {@link CHECK_EVERY_MS}: a process that
 * belongs to another user, or that hangs in the kernel, may never be gone, and every attempt reads
 * all of `/proc`.
 */
const KILL_AGAIN_MS = 2;

/**
 * For how long groups are killed and revocations retried when no lease has a known expiry ahead, in
 * ms.
 */
const DEFAULT_LIMIT_MS = 10_000;

export class ReaperLoop {
  readonly #options: ReaperLoopOptions;
  readonly #clock: Clock;
  readonly #state = new ReaperState();
  readonly #ended = new AbortController();
  /** Aborts, and is replaced, when a message arrives: the next check may be due sooner. */
  #changed = new AbortController();
  #parent: ProcessId | undefined;
  /** When the pipe was closed, on the monotonic clock. Infinity while it is open. */
  #pipeClosedAt = Infinity;
  /** The groups that were overdue, and not gone, at the last check. */
  #overdue: ReadonlySet<BoundGroup> = new Set();
  /** When the latest of those groups was found, on the monotonic clock. */
  #overdueSince = 0;

  constructor(options: ReaperLoopOptions) {
    this.#options = options;
    this.#clock = options.system.clock;
  }

  receive(message: ParentMessage): void {
    if (message.type === 'parent') this.#parent = message;
    if (message.type === 'store') this.#options.revokers.prepare(message);
    if (message.type === 'dropStore') this.#options.revokers.drop(message.store);
    if (message.type === 'end') this.#ended.abort();
    this.#state.apply(message);
    this.#wake();
  }

  /**
   * To be called when the pipe's other end is closed. That proves no death; it only starts the
   * checks.
   */
  pipeClosed(): void {
    this.#pipeClosedAt = this.#clock.monotonic();
    this.#wake();
  }

  get #isPipeClosed(): boolean {
    return this.#pipeClosedAt < Infinity;
  }

  /**
   * Resolves when nothing is left to do, or when the parent sends `end`. Otherwise never resolves
   * while the parent lives and has the pipe open.
   */
  async run(): Promise<void> {
    const nextIntervalMs = this.#checkIntervals();
    while (!this.#ended.signal.aborted) {
      const mayBeDead = this.#isPipeClosed || (this.#parent !== undefined && this.#options.isOrphan(this.#parent.pid));
      if (mayBeDead && this.#parent !== undefined && isDead(this.#options.system, this.#parent)) {
        await this.#readRest();
        return this.#reap();
      }
      const killInMs = this.#killOverdueGroups();
      if (this.#hasNothingToDo()) return;
      await pause(this.#clock, Math.min(mayBeDead ? nextIntervalMs() : CHECK_EVERY_MS, killInMs), this.#changed.signal);
    }
  }

  /**
   * Reads the messages that the dead parent left in the pipe. If another process holds the parent's
   * end, the pipe has no end; then reading stops when no more messages come.
   */
  async #readRest(): Promise<void> {
    for (let isChanged = true; isChanged && !this.#isPipeClosed;) {
      const { signal } = this.#changed;
      await pause(this.#clock, QUIET_MS, signal);
      isChanged = signal.aborted;
    }
  }

  /** After the death: kills each owner's groups, then revokes its leases. */
  async #reap(): Promise<void> {
    const { leases, groups } = this.#state;
    const owners = new Set([...leases.values(), ...groups.values()].map(({ owner }) => owner));
    await Promise.all([...owners].map((owner) => this.#reapOwner(owner)));
    await this.#options.revokers.close();
  }

  async #reapOwner(owner: number): Promise<void> {
    const isOwn = (one: WatchedLease | BoundGroup): boolean => one.owner === owner;
    const leases = [...this.#state.leases.values()].filter(isOwn);
    const now = this.#clock.monotonic();
    const limit = now + DEFAULT_LIMIT_MS;
    const groups = [...this.#state.groups.values()].filter(isOwn);
    const until = Math.max(limit, ...leases.map(({ times }) => times?.overBy ?? limit));
    const gone = await Promise.all(groups.map((group) => this.#killUntilGone(group, until)));
    // A process that cannot be killed may still write as the leader, so its lease must not end
    // early.
    if (gone.includes(false)) return;
    await Promise.all(
      leases.map((lease) => {
        const { overBy = limit } = lease.times ?? {};
        // If it has passed, the renewer of a blocked parent may have renewed the lease since.
        return this.#options.revokers.revoke(lease, overBy > now ? overBy : limit);
      }),
    );
  }

  /** Resolves with true when the group is gone, with false when it was not gone at `until`. */
  async #killUntilGone(group: BoundGroup, until: number): Promise<boolean> {
    const { system } = this.#options;
    const since = this.#clock.monotonic();
    while (killGroup(system, group)) {
      const now = this.#clock.monotonic();
      if (now >= until) return false;
      await pause(this.#clock, Math.min(killAgainInMs(now - since), until - now));
    }
    return true;
  }

  /**
   * Kills the overdue groups, and drops those that are gone, because their ids may be used again.
   * Returns after how long the groups must be checked again, in ms.
   */
  #killOverdueGroups(): number {
    const now = this.#clock.monotonic();
    const overdue: BoundGroup[] = [];
    for (const group of this.#state.overdueGroups(now, this.#clock.wall()))
      if (killGroup(this.#options.system, group)) overdue.push(group);
      else this.#state.apply({ type: 'release', pid: group.pid });
    if (overdue.some((group) => !this.#overdue.has(group))) this.#overdueSince = now;
    this.#overdue = new Set(overdue);
    const deadlineInMs = this.#state.nextDeadlineInMs(now) ?? CHECK_EVERY_MS;
    return overdue.length === 0 ? deadlineInMs : Math.min(deadlineInMs, killAgainInMs(now - this.#overdueSince));
  }

  /**
   * Whether the reaper may exit although the parent lives: the pipe is closed, so no message can
   * come, every lease that it knows has expired, and every group is gone.
   */
  #hasNothingToDo(): boolean {
    if (!this.#isPipeClosed) return false;
    if (this.#parent === undefined) return true;
    const isOver = this.#clock.monotonic() > Math.max(this.#pipeClosedAt + EXIT_MS, this.#state.allExpiredBy);
    return isOver && [...this.#state.groups.values()].every((group) => isGroupGone(this.#options.system, group));
  }

  #checkIntervals(): () => number {
    let waitedMs = 0;
    return () => {
      const everyMs = CHECK_INTERVALS.find(({ untilMs }) => waitedMs < untilMs)?.everyMs ?? CHECK_EVERY_MS;
      waitedMs += everyMs;
      return everyMs;
    };
  }

  #wake(): void {
    this.#changed.abort();
    this.#changed = new AbortController();
  }
}

/** After how long a group is killed again that has not been gone for `forMs`. */
function killAgainInMs(forMs: number): number {
  return Math.min(Math.max(forMs, KILL_AGAIN_MS), CHECK_EVERY_MS);
}
