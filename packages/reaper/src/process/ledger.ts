/** What the reaper was told, as it stands now. */

import type { LifeOf, Told } from '../messages.ts';

export interface WatchedLease {
  readonly lease: number;
  readonly store: number;
  readonly owner: number;
  readonly ticket: string;
  /** Absent until the store's first answer was told, which comes along with the lease. */
  readonly times?: LeaseTimes;
  /** What was bound later does not live by it. */
  readonly endedAt?: number;
}

type TimedLease = WatchedLease & Required<Pick<WatchedLease, 'times'>>;

interface LeaseTimes {
  readonly safeUntil: number;
  readonly wallSafeUntil: number;
  readonly overBy: number;
}

export interface BoundGroup extends LifeOf {
  readonly owner: number;
  /** When it was bound. */
  readonly at: number;
  readonly wallAt: number;
}

export class Ledger {
  readonly leases: Map<number, WatchedLease> = new Map();
  readonly groups: Map<number, BoundGroup> = new Map();
  /** Those that lived by a lease that is gone. */
  readonly #lost = new Set<number>();

  take(message: Told): void {
    switch (message.type) {
      case 'lease':
        this.leases.set(message.lease, message);
        return;
      case 'renewed': {
        const lease = this.leases.get(message.lease);
        if (lease !== undefined) this.leases.set(message.lease, { ...lease, times: message });
        return;
      }
      case 'ended': {
        const lease = this.leases.get(message.lease);
        if (lease !== undefined) this.leases.set(message.lease, { ...lease, endedAt: message.at });
        return;
      }
      case 'forget':
        for (const [pid, group] of this.groups) if (this.#livesBy(group).some(({ lease }) => lease === message.lease)) this.#lost.add(pid);
        this.leases.delete(message.lease);
        return;
      case 'group':
        this.groups.set(message.pid, message);
        this.#lost.delete(message.pid);
        return;
      case 'release':
        this.groups.delete(message.pid);
        this.#lost.delete(message.pid);
        return;
      case 'parent':
      case 'store':
      case 'end':
        return;
      default:
        message satisfies never;
    }
  }

  /** Those that must have stopped by now: a lease that they live by may end, or has. */
  overdue(now: number, wall: number): readonly BoundGroup[] {
    return [...this.groups.values()].filter(
      (group) => this.#lost.has(group.pid) || this.#livesBy(group).some(({ times }) => isOver(times, now, wall)),
    );
  }

  /** In how many ms, at the earliest, a group is overdue by the monotonic clock. Undefined: none will be. */
  nextIn(now: number): number | undefined {
    if (this.#lost.size > 0) return 0;
    const times = [...this.groups.values()].flatMap((group) => this.#livesBy(group)).map((lease) => lease.times.safeUntil);
    return times.length === 0 ? undefined : Math.max(Math.min(...times) - now, 0);
  }

  /**
   * The leases that a group lives by. One that was lost is forgotten when it is revoked, which the store may not be there for; what is started by the next one
   * does not live by it. Where none stood, the group should not be there.
   */
  #livesBy({ owner, at, wallAt }: BoundGroup): readonly TimedLease[] {
    const all = [...this.leases.values()].filter((lease): lease is TimedLease => lease.owner === owner && lease.times !== undefined);
    const standing = all.filter(({ times, endedAt = Infinity }) => !isOver(times, at, wallAt) && at <= endedAt);
    return standing.length > 0 ? standing : all;
  }

  /** When every lease has ended by itself. */
  get overBy(): number {
    return Math.max(-Infinity, ...[...this.leases.values()].map(({ times }) => times?.overBy ?? -Infinity));
  }
}

function isOver({ safeUntil, wallSafeUntil }: LeaseTimes, now: number, wall: number): boolean {
  return safeUntil <= now || wallSafeUntil <= wall;
}
